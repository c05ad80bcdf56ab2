import { caught, suite, threw } from "./suite.js";

const { test, route, handler } = suite();
export default handler;

const type = "content-type";
const bytes = (text) => new TextEncoder().encode(text);
const of = (body, contentType) => new Response(body, contentType && { headers: { [type]: contentType } });

test("text", () => of("é€").text(), "é€");
test("text strips a BOM", () => of(new Uint8Array([0xef, 0xbb, 0xbf, 65])).text(), "A");
test("text of invalid UTF-8", () => of(new Uint8Array([0xff, 65])).text(), "\ufffdA");
test("text ignores the charset", () => of(new Uint8Array([0xe9]), "text/plain; charset=latin1").text(), "�");
test("text is UTF-8 without a type", () => of(bytes("é")).text(), "é");
test("json with a BOM", () => of(new Uint8Array([0xef, 0xbb, 0xbf, 0x31])).json(), 1);
test("json ignores the type", () => of("[1]", "text/html").json(), [1]);
test(
  "json of bad text",
  () => of("{bad").json(),
  threw("SyntaxError", "Expected property name or '}' in JSON at position 1 (line 1 column 2)"),
);
test("bytes", async () => [...(await of("ab").bytes())], [97, 98]);
test("bytes is a Uint8Array", async () => (await of("ab").bytes()).constructor.name, "Uint8Array");
test("arrayBuffer", async () => (await of("abc").arrayBuffer()).byteLength, 3);
test(
  "blob",
  async () => {
    const blob = await of("abc", "text/x").blob();
    return [blob.size, blob.type, await blob.text()];
  },
  [3, "text/x", "abc"],
);
test("blob without a type", async () => (await of(bytes("a")).blob()).type, "");
test("body of an ArrayBuffer", () => of(bytes("abc").buffer).text(), "abc");
test("body of a subarray", () => of(bytes("abc").subarray(1)).text(), "bc");
test("body of a DataView", () => of(new DataView(bytes("abc").buffer, 1, 1)).text(), "b");
test("body of a Uint16Array", async () => (await of(new Uint16Array(2)).arrayBuffer()).byteLength, 4);
test(
  "body of an async generator",
  () =>
    of(
      (async function* () {
        yield bytes("a");
        yield bytes("b");
      })(),
    ).text(),
  "ab",
);
test("body of an array", () => of([1, 2]).text(), threw("TypeError", "This ReadableStream did not return bytes."));
test(
  "the body is copied when it is made",
  async () => {
    const data = bytes("a");
    const response = of(data);
    data[0] = 98;
    return response.text();
  },
  "a",
);
test("body: ReadableStream", () => String(of("a").body), "[object ReadableStream]");
test(
  "body: the same stream each time",
  () => {
    const response = of("a");
    return response.body === response.body;
  },
  true,
);
test(
  "body: reading by hand",
  async () => {
    const reader = of("abc").body.getReader();
    const out = [];
    for (let part = await reader.read(); !part.done; part = await reader.read()) out.push(new TextDecoder().decode(part.value));
    return out.join("");
  },
  "abc",
);
test(
  "body: a BYOB reader",
  async () => {
    const reader = of("abcdef").body.getReader({ mode: "byob" });
    const { value, done } = await reader.read(new Uint8Array(3));
    return [new TextDecoder().decode(value), done];
  },
  ["abc", false],
);
test(
  "body: async iteration",
  async () => {
    let text = "";
    for await (const chunk of of("abc").body) text += new TextDecoder().decode(chunk);
    return text;
  },
  "abc",
);
test(
  "body: tee",
  async () => {
    const [a, b] = of("abc").body.tee();
    return [await new Response(a).text(), await new Response(b).text()];
  },
  ["abc", "abc"],
);
test(
  "body: cancel",
  async () => {
    const response = of("abc");
    await response.body.cancel();
    return [response.bodyUsed, (await caught(() => response.text()))?.message];
  },
  [true, "Body has already been used. It can only be used once. Use tee() first if you need to read it twice."],
);
test("formData: urlencoded", async () => [...(await of("a=1&b=2+3&a=%C3%A9", "application/x-www-form-urlencoded").formData())], [
  ["a", "1"],
  ["b", "2 3"],
  ["a", "é"],
]);
const multipart = (parts, boundary = "x") =>
  of(parts.map((part) => `--${boundary}\r\n${part}\r\n`).join("") + `--${boundary}--\r\n`, `multipart/form-data; boundary=${boundary}`);
test("formData: multipart field", async () => [...(await multipart(['Content-Disposition: form-data; name="a"\r\n\r\n1']).formData())], [
  ["a", "1"],
]);
test(
  "formData: multipart file",
  async () => {
    const file = (
      await multipart(['Content-Disposition: form-data; name="f"; filename="a.txt"\r\nContent-Type: text/x\r\n\r\nhello']).formData()
    ).get("f");
    return [file.constructor.name, file.name, file.type, file.size, await file.text()];
  },
  ["File", "a.txt", "text/x", 5, "hello"],
);
test(
  "formData: a file without a type",
  async () => (await multipart(['Content-Disposition: form-data; name="f"; filename="a"\r\n\r\nx']).formData()).get("f").type,
  "",
);
test(
  "formData: order and repetition",
  async () =>
    (
      await multipart(['Content-Disposition: form-data; name="a"\r\n\r\n1', 'Content-Disposition: form-data; name="a"\r\n\r\n2']).formData()
    ).getAll("a"),
  ["1", "2"],
);
test(
  "formData: a value with line ends",
  async () => (await multipart(['Content-Disposition: form-data; name="a"\r\n\r\n1\r\n2\n3']).formData()).get("a"),
  "1\r\n2\n3",
);
test(
  "formData: a quoted name",
  async () => [...(await multipart(['Content-Disposition: form-data; name="a%22b"\r\n\r\n1']).formData()).keys()],
  ["a%22b"],
);
test(
  "formData: no boundary",
  () => of("x", "multipart/form-data").formData(),
  threw(
    "TypeError",
    "No boundary string in Content-Type header. The multipart/form-data MIME type requires a boundary parameter, e.g. 'Content-Type: multipart/form-data; boundary=\"abcd\"'. See RFC 7578, section 4.",
  ),
);
test(
  "formData: a truncated body",
  () => of("--x\r\nContent-Disposition: form-data", "multipart/form-data; boundary=x").formData(),
  threw("TypeError", "No multipart message header termination found."),
);
test(
  "formData: no type",
  () => of(bytes("x")).formData(),
  threw("TypeError", "Parsing a Body as FormData requires a Content-Type header."),
);
test(
  "formData: json",
  () => of("{}", "application/json").formData(),
  threw(
    "TypeError",
    "Unrecognized Content-Type header value. FormData can only parse the following MIME types: multipart/form-data, application/x-www-form-urlencoded",
  ),
);
test(
  "formData: round trip",
  async () => {
    const form = new FormData();
    form.append("a", "1");
    form.append("f", new File(["hello"], "h.txt", { type: "text/y" }));
    form.append("b", new Blob(["blob"]));
    const back = await new Response(form).formData();
    return [back.get("a"), back.get("f").name, back.get("f").type, await back.get("f").text(), back.get("b").name, back.get("b").type];
  },
  ["1", "h.txt", "text/y", "hello", "b", "application/octet-stream"],
);
test(
  "formData: on the wire",
  async () => {
    const form = new FormData();
    form.append("a", "1\n2");
    form.append('n"ame', new File(["x"], 'f"n.txt'));
    const response = new Response(form);
    const boundary = response.headers.get(type).split("boundary=")[1].replaceAll('"', "");
    return (await response.text()).replaceAll(boundary, "BOUNDARY");
  },
  '--BOUNDARY\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\n2\r\n--BOUNDARY\r\nContent-Disposition: form-data; name="n%22ame"; filename="f%22n.txt"\r\nContent-Type: application/octet-stream\r\n\r\nx\r\n--BOUNDARY--',
);
test(
  "FormData: append, get, getAll, has, delete, set",
  () => {
    const form = new FormData();
    form.append("a", "1");
    form.append("a", 2);
    form.set("b", null);
    form.set("a2", undefined);
    const before = [form.get("a"), form.getAll("a"), form.has("b"), form.get("b"), form.get("a2"), form.get("x"), form.getAll("x")];
    form.delete("a");
    return [before, [...form.keys()]];
  },
  [
    ["1", ["1", "2"], true, "null", "undefined", null, []],
    ["b", "a2"],
  ],
);
test(
  "FormData: set keeps the place",
  () => {
    const form = new FormData();
    for (const [name, value] of [
      ["a", "1"],
      ["b", "2"],
      ["a", "3"],
    ])
      form.append(name, value);
    form.set("a", "4");
    return [...form];
  },
  [
    ["a", "4"],
    ["b", "2"],
  ],
);
test(
  "FormData: a Blob becomes a File",
  () => {
    const form = new FormData();
    form.append("a", new Blob(["x"], { type: "t/u" }));
    form.append("b", new Blob(["x"]), "named");
    return ["a", "b"].map((name) => [form.get(name).constructor.name, form.get(name).name, form.get(name).type]);
  },
  [
    ["File", "a", "t/u"],
    ["File", "named", ""],
  ],
);
test("FormData: a file name for a string", () => new FormData().append("a", "b", "c"), undefined);
test(
  "FormData: append without a value",
  () => new FormData().append("a"),
  threw("TypeError", "Failed to execute 'append' on 'FormData': parameter 2 is not of type 'File or Blob or string'."),
);
test("FormData: of something", () => [...new FormData(1)], []);
test(
  "FormData: forEach",
  () => {
    const form = new FormData();
    form.append("a", "1");
    const out = [];
    form.forEach((value, name, all) => out.push(value, name, all === form));
    return out;
  },
  ["1", "a", true],
);
test("Blob: parts", () => new Blob(["a", new Uint8Array([98]), new Blob(["c"]), bytes("d").buffer, 1, null]).text(), "abcd1null");
test(
  "Blob: size and type",
  () => {
    const blob = new Blob(["é"], { type: "Text/PLAIN" });
    return [blob.size, blob.type];
  },
  [2, "text/plain"],
);
test("Blob: a type beyond ASCII", () => new Blob([], { type: "é" }).type, "");
test(
  "Blob: slice",
  async () => {
    const blob = new Blob(["abcdef"], { type: "a/b" });
    return [
      await blob.slice(1, 3).text(),
      await blob.slice(-2).text(),
      blob.slice(0, 1, "c/d").type,
      blob.slice().type,
      blob.slice(4, 2).size,
    ];
  },
  ["bc", "ef", "c/d", "", 0],
);
test("Blob: stream", () => new Response(new Blob(["abc"]).stream()).text(), "abc");
test(
  "Blob: arrayBuffer and bytes",
  async () => [(await new Blob(["abc"]).arrayBuffer()).byteLength, [...(await new Blob(["a"]).bytes())]],
  [3, [97]],
);
test(
  "Blob: of a string",
  () => new Blob("abc"),
  threw("TypeError", "Failed to construct 'Blob': constructor parameter 1 is not of type 'Array'."),
);
test("Blob: of nothing", () => [new Blob().size, new Blob([]).size, new Blob(undefined).size], [0, 0, 0]);
test(
  "Blob: endings",
  () => new Blob(["a\nb"], { endings: "native" }).text(),
  threw("Error", "The 'endings' field on 'Options' is not implemented."),
);
test(
  "File: properties",
  () => {
    const file = new File(["abc"], "n/a.txt", { type: "a/b", lastModified: 5 });
    return [file.name, file.type, file.size, file.lastModified, file instanceof Blob, String(file)];
  },
  ["n/a.txt", "a/b", 3, 5, true, "[object File]"],
);
test(
  "File: without a name",
  () => new File([]),
  threw("TypeError", "Failed to construct 'File': constructor parameter 2 is not of type 'string'."),
);
test("File: lastModified by default", () => Math.abs(new File([], "a").lastModified - Date.now()) < 1000, true);
test("incoming: the request has no body", async ({ request }) => [request.body, await request.text()], [null, ""]);

route("/echo", (request) => new Response(request.body, { headers: { "x-type": request.headers.get(type) ?? "none" } }));
route("/text", async (request) => new Response(await request.text()));
route("/json", async (request) => Response.json(await request.json()));
route("/form", async (request) =>
  Response.json(
    [...(await request.formData())].map(([name, value]) => [
      name,
      typeof value === "string" ? value : [value.name, value.type, value.size],
    ]),
  ),
);
route("/ignore", () => new Response("ignored"));
route("/half", async (request) => {
  const reader = request.body.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return new Response(String(value.length > 0));
});
route("/count", async (request) => {
  let total = 0;
  for await (const chunk of request.body) total += chunk.length;
  return new Response(String(total));
});
route("/byob", async (request) => {
  const reader = request.body.getReader({ mode: "byob" });
  const { value } = await reader.readAtLeast(4, new Uint8Array(8));
  reader.releaseLock();
  return new Response(`${value.length >= 4} ${new TextDecoder().decode(value.subarray(0, 4))}`);
});
route("/clone", async (request) => {
  const copy = request.clone();
  return Response.json([await request.text(), await copy.text()]);
});
route(
  "/transform",
  (request) =>
    new Response(
      request.body.pipeThrough(
        new TransformStream({
          transform(chunk, controller) {
            controller.enqueue(chunk.map((byte) => (byte >= 97 && byte <= 122 ? byte - 32 : byte)));
          },
        }),
      ),
    ),
);
route("/locked", (request) => {
  request.body.getReader();
  return new Response(request.body);
});
