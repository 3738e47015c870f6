# SPDX-License-Identifier: MIT
"""without_uring.py PROGRAM [ARGUMENT]...: runs a program that the system refuses io_uring.

Installs a seccomp filter that answers io_uring_setup, io_uring_enter and io_uring_register (425 to
427 on every architecture) with EPERM, as container runtimes do, and executes the program.
"""
import ctypes
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
LOAD_WORD, JUMP_GE, JUMP_GT, RETURN = 0x20, 0x35, 0x25, 0x06
ALLOW, REFUSE_EPERM = 0x7FFF0000, 0x00050001


def instruction(code, if_true, if_false, value):
    return struct.pack("HBBI", code, if_true, if_false, value)


def main():
    program = b"".join([
        instruction(LOAD_WORD, 0, 0, 0),     # the system call's number
        instruction(JUMP_GE, 0, 2, 425),
        instruction(JUMP_GT, 1, 0, 427),
        instruction(RETURN, 0, 0, REFUSE_EPERM),
        instruction(RETURN, 0, 0, ALLOW),
    ])
    code = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or \
            libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0) != 0:
        sys.exit(f"no seccomp: {os.strerror(ctypes.get_errno())}")
    os.execv(sys.argv[1], sys.argv[1:])


main()
