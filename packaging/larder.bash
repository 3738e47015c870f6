# SPDX-License-Identifier: MIT
# Written by tools/packaging.py from the table of options.
_larder()
{
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}"
    local words=""
    case "$before" in
    --help) words="network memory threads security server" ;;
    --maxmemory-policy) words="noeviction allkeys-lru allkeys-lfu allkeys-random volatile-lru volatile-lfu volatile-random volatile-ttl" ;;
    --io) words="auto io_uring epoll" ;;
    --protected-mode) words="yes no" ;;
    --enable-debug-command) words="no local yes" ;;
    --memcache-shutdown) words="yes no" ;;
    --loglevel) words="debug verbose notice warning nothing" ;;
    --log-format) words="text json" ;;
    --latency-tracking) words="yes no" ;;
    --unixsocket|--logfile|--pidfile|--config)
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        compopt -o filenames 2>/dev/null
        return ;;
    esac
    if [[ $word == -* ]]; then
        words="--help --version --check-config --bind --port --admin-port --unixsocket --unixsocketperm --tcp-backlog --maxclients --timeout --http-request-timeout --client-output-soft-limit --client-output-stall-timeout --client-output-buffer-limit --tcp-keepalive --client-query-buffer-limit --proto-max-bulk-len --maxmemory --maxmemory-policy --shards --threads --io --batch-wait --requirepass --protected-mode --http-allow-host --http-allow-origin --enable-debug-command --memcache-shutdown --loglevel --logfile --log-format --slowlog-log-slower-than --slowlog-max-len --latency-monitor-threshold --latency-tracking --latency-tracking-info-percentiles --shutdown-timeout --pidfile --config"
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
    if [[ $word != -* && ($before != -* || $before == --check-config) ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        compopt -o filenames 2>/dev/null
    fi
}
complete -F _larder larder
