"""An analyzer that says what a test wants, and writes down what it is told."""

import http.server
import threading

from reticent import Budget, Reward
from reticent_devices import ShuffleNewton


def server(first, **options):
    return ShuffleNewton(2, Budget(1.0, 1e-6), Reward(radius=3.0), first=first, **options)


class Stub:
    """billboard: what it shows. statuses: of the next replies to batches, then 200. batches: (number, message) of each
    time that one came. elsewhere: where it sends whoever asks for the billboard."""

    def __init__(self, billboard):
        self.billboard, self.statuses, self.batches, self.elsewhere = billboard, [], [], None
        stub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                if stub.elsewhere:
                    self.send_response(302)
                    self.send_header("location", stub.elsewhere)
                    self.end_headers()
                else:
                    self._say(200, stub.billboard)

            def do_POST(self):
                message = self.rfile.read(length := int(self.headers["content-length"]))
                if len(message) < length:
                    return  # who sent it was killed in between: no server takes half a body
                stub.batches.append((int(self.path.rpartition("/")[2]), message))
                status = stub.statuses.pop(0) if stub.statuses else 200
                if status is None:
                    self.connection.close()  # no reply at all
                else:
                    self._say(status, b"{}")

            def _say(self, status, body):
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
