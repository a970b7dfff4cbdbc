"""Does known work and sends its own profiles with Pyroscope's Python SDK, unchanged, until its standard input ends.

CPU in burn_hot under the label region=north, 32 MiB held by open_accounts, allocations of render_invoice.

    main.py URL SERVICE
"""

import os
import sys
import threading
import time

import pyroscope

ended = threading.Event()
accounts = []


def burn_hot(seconds):
    """Where nearly all of the time goes."""
    x = 88172645463325252
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for _ in range(20_000):
            x = (x * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
    return x


def open_accounts():
    for _ in range(32):
        accounts.append(bytearray(1 << 20))


def render_invoice():
    return bytearray(1 << 20)


def wait_for_end():
    while os.read(0, 4096):
        pass
    ended.set()


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: main.py URL SERVICE")
    started = pyroscope.configure(
        application_name=sys.argv[2],
        server_address=sys.argv[1],
        tags={"client": "pyroscope-io", "k8s-app": "bank"},
        upload_interval=1,
        mem_enabled=True,
        report_thread_name=True,
        enable_logging=True,
    )
    if started is False:
        sys.exit("the SDK does not start")
    threading.Thread(target=wait_for_end, name="reader", daemon=True).start()
    open_accounts()
    while not ended.is_set():
        with pyroscope.tag_wrapper({"region": "north"}):
            burn_hot(0.1)
        for _ in range(4):
            render_invoice()
    pyroscope.shutdown()


main()
