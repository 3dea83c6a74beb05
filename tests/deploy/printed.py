"""What a process prints, line by line, with when it came."""
import re
import threading
import time


class Printed:
    """Reads `process.stdout`, a pipe of text, until it ends. Threads: seen from any."""

    def __init__(self, process):
        self.process = process
        self.lines = []  # (time.monotonic(), line)
        self.ended = False
        self.changed = threading.Condition()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            with self.changed:
                self.lines.append((time.monotonic(), line))
                self.changed.notify_all()
        with self.changed:
            self.ended = True
            self.changed.notify_all()

    def seen(self, pattern, patience):
        """(when it came, its match) of the first line that has the pattern. AssertionError if none comes within `patience` seconds."""
        def first():
            return next(((at, m) for at, m in ((at, re.search(pattern, line)) for at, line in self.lines) if m), None)
        with self.changed:
            self.changed.wait_for(lambda: first() or self.ended, patience)
            if not first():
                raise AssertionError(f"nothing like '{pattern}' was printed:\n{self.text()}")
            return first()

    def text(self):
        return "".join(line for _, line in self.lines)

    def wait(self, patience):
        """The exit status, when everything is read."""
        status = self.process.wait(patience)
        self.reader.join()
        return status
