#!/usr/bin/env python3
"""Google Cloud Storage's XML API, as far as celld speaks it, in front of fake-gcs-server, which has uploads and listings of
the JSON API only.

    tests/gcs.py --listen 127.0.0.1:4601 --server 127.0.0.1:4602 --bucket celld-test

waits for the server, creates the bucket and serves until it is ended. celld is pointed at it with
STORAGE_EMULATOR_HOST=http://127.0.0.1:4601.

Every request becomes one request to the server, so that the server decides each condition and each race (after a 404 the server
is also asked whether it is the bucket that is missing):

    GET, HEAD /BUCKET/KEY          as it is
    PUT /BUCKET/KEY                POST /upload/storage/v1/b/BUCKET/o?uploadType=multipart&ifGenerationMatch=N
    DELETE /BUCKET/KEY             DELETE /storage/v1/b/BUCKET/o/KEY
    GET /BUCKET?list-type=2        GET /storage/v1/b/BUCKET/o

The parts of a multipart upload are kept here; completing it is one upload as above. What is not listed here is answered with
501, never ignored: a condition that got lost on the way would make the server look better or worse than it is. (The server
itself ignores conditions of uploads with uploadType=media, of deletions, and those on metagenerations. So uploads are of the
other type, and the generation of an upload is the only condition here.)
"""

import argparse
import hashlib
import http.client
import http.server
import json
import re
import sys
import threading
import time
import uuid
import xml.etree.ElementTree as ElementTree
from urllib.parse import parse_qsl, quote, unquote, urlencode
from xml.sax.saxutils import escape

# The host by which the server knows requests of the XML API.
PUBLIC_HOST = "storage.googleapis.com"

# The smallest part of a multipart upload, except the last.
SMALLEST_PART = 5 << 20

# What the XML API calls the statuses of the JSON API.
CODES = {
    400: "InvalidArgument",
    401: "AuthenticationRequired",
    403: "AccessDenied",
    404: "NoSuchKey",
    409: "Conflict",
    411: "MissingContentLength",
    412: "PreconditionFailed",
    416: "InvalidRange",
    429: "SlowDown",
    501: "NotImplemented",
    503: "ServiceUnavailable",
}

# The condition of an upload. 0 stands for no object.
CONDITION = "x-goog-if-generation-match"

# Headers of a request that change nothing in what is stored or answered.
HARMLESS = {
    "accept", "accept-encoding", "authorization", "connection", "content-length", "content-type", "date", "expect", "host",
    "user-agent", "x-goog-api-client",
}  # fmt: skip

# Headers of an answer that belong to one connection.
OF_CONNECTION = {"connection", "date", "keep-alive", "server", "transfer-encoding", "content-length"}


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, status, message, code=None):
        super().__init__(message)
        self.status, self.message, self.code = status, message, code or CODES.get(status, "InternalError")


class Upload:
    """A multipart upload that is not complete."""

    def __init__(self, bucket, key, content_type):
        self.bucket, self.key, self.content_type = bucket, key, content_type
        # By number: the entity tag and the bytes.
        self.parts = {}
        # Held while it is completed, so that it is completed once.
        self.completing = threading.Lock()


class Uploads:
    """All of them."""

    def __init__(self):
        self.lock, self.by_id = threading.Lock(), {}

    def start(self, upload):
        upload_id = uuid.uuid4().hex
        with self.lock:
            self.by_id[upload_id] = upload
        return upload_id

    def get(self, upload_id, bucket, key):
        with self.lock:
            upload = self.by_id.get(upload_id)
        if upload is None or (upload.bucket, upload.key) != (bucket, key):
            raise Refused(404, "The requested upload was not found.", "NoSuchUpload")
        return upload

    def end(self, upload_id):
        with self.lock:
            self.by_id.pop(upload_id, None)


class Server:
    """fake-gcs-server."""

    def __init__(self, address):
        self.address = address

    def send(self, method, path, body=None, headers=None):
        """One request on a connection of its own: nothing is ever sent a second time."""
        connection = http.client.HTTPConnection(self.address, timeout=60)
        try:
            connection.request(method, path, body, {"Host": PUBLIC_HOST, **(headers or {})})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        except (OSError, http.client.HTTPException) as error:
            # It may have carried out the request.
            raise Refused(502, f"{self.address}: {error!r}") from error
        finally:
            connection.close()

    def json(self, method, path, parameters=(), body=None, headers=None):
        """One request of the JSON API that has to succeed."""
        query = "?" + urlencode(parameters, quote_via=quote) if parameters else ""
        status, _, body = self.send(method, path + query, body, headers)
        if status >= 300:
            raise Refused(status, message_of(body))
        return json.loads(body) if body.strip() else {}

    def has_bucket(self, bucket):
        status, _, body = self.send("GET", f"/storage/v1/b/{quote(bucket, safe='')}")
        if status not in (200, 404):
            raise Refused(status, message_of(body))
        return status == 200


def message_of(body):
    try:
        return json.loads(body)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        return body.decode("utf-8", "replace").strip()


def quoted(tag):
    return tag if tag.startswith('"') else f'"{tag}"'


def described(item):
    """An object's resource of the JSON API as headers of the XML API."""
    hashes = [f"{name}={item[field]}" for name, field in (("crc32c", "crc32c"), ("md5", "md5Hash")) if item.get(field)]
    return {
        "ETag": quoted(item["etag"]),
        "x-goog-generation": item["generation"],
        "x-goog-metageneration": item["metageneration"],
        **({"x-goog-hash": ",".join(hashes)} if hashes else {}),
    }


def element(name, *content):
    """An XML element of elements, or of a text."""
    return f"<{name}>{''.join(content)}</{name}>"


def document(name, *content):
    return ("<?xml version='1.0' encoding='UTF-8'?>" + element(name, *content)).encode()


def text(name, value):
    return element(name, escape(str(value)))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_version = "celld-tests-gcs"

    def log_message(self, *_):
        pass

    def do(self):
        try:
            body = self.body()
            if body is None:
                return
            self.route(body)
        except Refused as refused:
            if refused.status >= 500:
                print(f"{self.command} {self.path}: {refused.status} {refused.message}", file=sys.stderr, flush=True)
            self.answer(
                refused.status,
                {"Content-Type": "application/xml; charset=UTF-8"},
                document("Error", text("Code", refused.code), text("Message", refused.message)),
            )

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do

    def body(self):
        """The whole body, or `None` when the client has gone before its end: half of an object must not be stored."""
        if self.headers.get("Transfer-Encoding"):
            self.close_connection = True
            raise Refused(411, "A Content-Length is needed.")
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return None
        return body

    def answer(self, status, headers, body=b""):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        # The answer to a HEAD has the length of the object, which came with its headers.
        if status not in (204, 304) and not any(name.lower() == "content-length" for name in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def answer_xml(self, body, headers=None):
        self.answer(200, {"Content-Type": "application/xml; charset=UTF-8", **(headers or {})}, body)

    def route(self, body):
        path, _, query = self.path.partition("?")
        bucket, _, key = path.lstrip("/").partition("/")
        bucket, key = unquote(bucket), unquote(key)
        parameters = dict(parse_qsl(query, keep_blank_values=True, errors="strict"))
        request = (self.command, bool(key), frozenset(parameters))
        if request in (("GET", True, frozenset()), ("HEAD", True, frozenset())):
            self.read(bucket, key)
        elif request == ("PUT", True, frozenset()):
            item = self.store(bucket, key, self.headers.get("Content-Type"), body)
            self.answer(200, described(item))
        elif request == ("DELETE", True, frozenset()):
            self.delete(bucket, key)
        elif self.command == "GET" and not key and parameters.get("list-type") == "2":
            self.list(bucket, parameters)
        elif request == ("POST", True, frozenset({"uploads"})):
            self.start_upload(bucket, key)
        elif request == ("PUT", True, frozenset({"partNumber", "uploadId"})):
            self.put_part(bucket, key, parameters, body)
        elif request == ("POST", True, frozenset({"uploadId"})):
            self.complete_upload(bucket, key, parameters["uploadId"], body)
        elif request == ("DELETE", True, frozenset({"uploadId"})):
            self.check_headers()
            self.server.uploads.get(parameters["uploadId"], bucket, key)
            self.server.uploads.end(parameters["uploadId"])
            self.answer(204, {})
        else:
            raise Refused(501, f"{self.command} with {sorted(parameters)} is not known here.")

    def check_headers(self, *known):
        """Refuses a request with a header that would get lost."""
        for name in self.headers:
            if name.lower() not in HARMLESS and name.lower() not in known:
                raise Refused(501, f"The header {name} is not known here.")

    def missing(self, bucket, message):
        """What is missing, when the server has answered with 404."""
        if self.server.gcs.has_bucket(bucket):
            return Refused(404, message, "NoSuchKey")
        return Refused(404, "The specified bucket does not exist.", "NoSuchBucket")

    def read(self, bucket, key):
        passed = ("range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since")
        self.check_headers(*passed)
        headers = {name: value for name, value in self.headers.items() if name.lower() in passed}
        path = f"/{quote(bucket, safe='')}/{quote(key, safe='')}"
        status, answered, body = self.server.gcs.send(self.command, path, headers=headers)
        if status == 404:
            raise self.missing(bucket, message_of(body))
        if status >= 400:
            raise Refused(status, message_of(body))
        headers = {name: value for name, value in answered.items() if name.lower() not in OF_CONNECTION}
        if self.command == "HEAD" and "Content-Length" in answered:
            headers["Content-Length"] = answered["Content-Length"]
        self.answer(status, headers, body)

    def store(self, bucket, key, content_type, body):
        """Stores an object under the condition of the request; returns what the server says of it."""
        self.check_headers(CONDITION)
        condition = [("ifGenerationMatch", self.headers[CONDITION])] if CONDITION in self.headers else []
        path = f"/upload/storage/v1/b/{quote(bucket, safe='')}/o"
        content_type = content_type or "application/octet-stream"
        # One request with the object's resource and its bytes, parted by what is in neither.
        boundary = uuid.uuid4().hex
        resource = json.dumps({"name": key, "contentType": content_type})
        parts = [
            f"--{boundary}\r\nContent-Type: application/json; charset=UTF-8\r\n\r\n{resource}\r\n".encode(),
            f"--{boundary}\r\nContent-Type: {content_type}\r\n\r\n".encode(),
            body,
            f"\r\n--{boundary}--\r\n".encode(),
        ]
        headers = {"Content-Type": f"multipart/related; boundary={boundary}"}
        try:
            parameters = [("uploadType", "multipart"), *condition]
            return self.server.gcs.json("POST", path, parameters, b"".join(parts), headers)
        except Refused as refused:
            if refused.status == 404:
                raise self.missing(bucket, refused.message) from None
            raise

    def delete(self, bucket, key):
        self.check_headers()
        path = f"/storage/v1/b/{quote(bucket, safe='')}/o/{quote(key, safe='')}"
        try:
            self.server.gcs.json("DELETE", path)
        except Refused as refused:
            if refused.status == 404:
                raise self.missing(bucket, refused.message) from None
            raise
        self.answer(204, {})

    def list(self, bucket, parameters):
        self.check_headers()
        asked = []
        for name, value in parameters.items():
            if name == "start-after":
                # The JSON API's offset is the first name that may be listed: the next one after this.
                asked.append(("startOffset", value + "\0"))
            elif name == "list-type":
                pass
            elif name in ("prefix", "delimiter", "max-keys", "continuation-token"):
                known = {"max-keys": "maxResults", "continuation-token": "pageToken"}
                asked.append((known.get(name, name), value))
            else:
                raise Refused(501, f"A listing with {name} is not known here.")
        try:
            page = self.server.gcs.json("GET", f"/storage/v1/b/{quote(bucket, safe='')}/o", asked)
        except Refused as refused:
            if refused.status == 404:
                raise self.missing(bucket, refused.message) from None
            raise
        items, prefixes, token = page.get("items") or [], page.get("prefixes") or [], page.get("nextPageToken")
        content = [text("Name", bucket), text("KeyCount", len(items) + len(prefixes))]
        content.append(text("IsTruncated", "true" if token else "false"))
        if token:
            content.append(text("NextContinuationToken", token))
        for item in items:
            content.append(
                element(
                    "Contents",
                    text("Key", item["name"]),
                    text("Generation", item["generation"]),
                    text("LastModified", item["updated"]),
                    text("ETag", quoted(item["etag"])),
                    text("Size", item["size"]),
                )
            )
        content += [element("CommonPrefixes", text("Prefix", prefix)) for prefix in prefixes]
        self.answer_xml(document("ListBucketResult", *content))

    def start_upload(self, bucket, key):
        self.check_headers()
        if not self.server.gcs.has_bucket(bucket):
            raise Refused(404, "The specified bucket does not exist.", "NoSuchBucket")
        upload_id = self.server.uploads.start(Upload(bucket, key, self.headers.get("Content-Type")))
        named = [text("Bucket", bucket), text("Key", key), text("UploadId", upload_id)]
        self.answer_xml(document("InitiateMultipartUploadResult", *named))

    def put_part(self, bucket, key, parameters, body):
        self.check_headers()
        upload = self.server.uploads.get(parameters["uploadId"], bucket, key)
        number = parameters["partNumber"]
        if not re.fullmatch(r"[1-9]\d{0,4}", number) or int(number) > 10_000:
            raise Refused(400, "A part has a number from 1 to 10000.")
        tag = quoted(hashlib.md5(body).hexdigest())
        upload.parts[int(number)] = (tag, body)
        self.answer(200, {"ETag": tag})

    def complete_upload(self, bucket, key, upload_id, body):
        upload = self.server.uploads.get(upload_id, bucket, key)
        try:
            wanted = [(int(part.findtext("PartNumber")), part.findtext("ETag")) for part in ElementTree.fromstring(body)]
        except (ElementTree.ParseError, TypeError, ValueError):
            raise Refused(400, "The list of parts cannot be read.", "MalformedCompleteMultipartUploadRequest") from None
        numbers = [number for number, _ in wanted]
        if not wanted or sorted(set(numbers)) != numbers:
            raise Refused(400, "The parts are not in order.", "InvalidPartOrder")
        with upload.completing:
            # Another request may have completed it while this one waited.
            self.server.uploads.get(upload_id, bucket, key)
            parts = []
            for number, tag in wanted:
                stored_tag, part = upload.parts.get(number, (None, None))
                if tag is None or stored_tag != quoted(tag):
                    raise Refused(400, f"Part {number} is not as it was stored.", "InvalidPart")
                parts.append(part)
            if any(len(part) < SMALLEST_PART for part in parts[:-1]):
                raise Refused(400, "A part before the last is smaller than 5 MiB.", "EntityTooSmall")
            item = self.store(bucket, key, upload.content_type, b"".join(parts))
            self.server.uploads.end(upload_id)
        headers = described(item)
        named = [text("Bucket", bucket), text("Key", key), text("ETag", headers.pop("ETag"))]
        self.answer_xml(document("CompleteMultipartUploadResult", *named), headers)


class Listener(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, address, gcs):
        self.gcs, self.uploads = gcs, Uploads()
        super().__init__(address, Handler)

    def handle_error(self, request, client_address):
        # A client that was killed is no news.
        if not isinstance(sys.exception() if hasattr(sys, "exception") else sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def create_bucket(gcs, bucket, patience):
    """Creates the bucket as soon as the server answers."""
    end = time.monotonic() + patience
    while True:
        try:
            status, _, body = gcs.send(
                "POST",
                "/storage/v1/b?project=celld",
                json.dumps({"name": bucket}),
                {"Content-Type": "application/json"},
            )
            break
        except Refused as refused:
            if time.monotonic() > end:
                sys.exit(f"tests/gcs.py: no server: {refused.message}")
            time.sleep(0.1)
    if status not in (200, 409):
        sys.exit(f"tests/gcs.py: the bucket {bucket} cannot be created: {status} {message_of(body)}")


def main():
    parser = argparse.ArgumentParser(description="Google's XML API in front of fake-gcs-server.")
    parser.add_argument("--listen", required=True, metavar="HOST:PORT")
    parser.add_argument("--server", required=True, metavar="HOST:PORT")
    parser.add_argument("--bucket", required=True, metavar="NAME")
    arguments = parser.parse_args()
    gcs = Server(arguments.server)
    create_bucket(gcs, arguments.bucket, patience=20)
    host, _, port = arguments.listen.rpartition(":")
    Listener((host, int(port)), gcs).serve_forever()


if __name__ == "__main__":
    main()
