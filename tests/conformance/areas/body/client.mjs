// Bodies in both directions, from the client's side.

const cases = {};
function test(name, run, expected) {
  cases[name] = { run, expected };
}
export default cases;

const post = async (client, path, body, headers = {}) => {
  const answer = await client.request(path, { method: "POST", body, headers });
  return answer.body;
};
const big = Buffer.alloc(3_000_000, "abcdefgh");
const medium = big.subarray(0, 200_000);

test("echo", (client) => post(client, "/echo", "hello"), "hello");
test("echo of 3 MB", async (client) => (await post(client, "/echo", big)) === big.toString("latin1"), true);
test("echo of nothing", (client) => post(client, "/echo", ""), "");
test("text of 3 MB", async (client) => (await post(client, "/text", big)).length, 3_000_000);
test("count of 3 MB", (client) => post(client, "/count", big), "3000000");
test("json", (client) => post(client, "/json", '{"a":[1,2]}'), '{"a":[1,2]}');
test("json that is none", async (client) => (await client.request("/json", { method: "POST", body: "{" })).status, 500);
test(
  "form: urlencoded",
  (client) => post(client, "/form", "a=1&b=2", { "content-type": "application/x-www-form-urlencoded" }),
  '[["a","1"],["b","2"]]',
);
test(
  "form: multipart",
  (client) =>
    post(
      client,
      "/form",
      '--b\r\nContent-Disposition: form-data; name="f"; filename="x.bin"\r\nContent-Type: a/b\r\n\r\n\x00\x01\r\n--b--\r\n',
      { "content-type": "multipart/form-data; boundary=b" },
    ),
  '[["f",["x.bin","a/b",2]]]',
);
test("a body that is ignored", (client) => post(client, "/ignore", medium), "ignored");
test("a body that is cancelled half-way", (client) => post(client, "/half", medium), "true");
test("a BYOB reader", (client) => post(client, "/byob", "abcd"), "true abcd");
test("clone", (client) => post(client, "/clone", "abc"), '["abc","abc"]');
test("transform", (client) => post(client, "/transform", "abc"), "ABC");
test("a locked body in a response", async (client) => (await client.request("/locked", { method: "POST", body: "x" })).status, 500);
test(
  "a part is answered before the next is sent",
  async (client) => {
    const socket = await client.connect();
    socket.setEncoding("latin1");
    let received = "";
    socket.on("data", (data) => (received += data));
    const until = async (text) => {
      for (let i = 0; i < 200 && !received.includes(text); i++) await new Promise((resolve) => setTimeout(resolve, 10));
      return received.includes(text);
    };
    socket.write("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n");
    const first = await until("first");
    socket.write("6\r\nsecond\r\n0\r\n\r\n");
    const second = await until("second");
    socket.destroy();
    return [first, second];
  },
  [true, true],
);
test(
  "an upload that the client breaks off",
  async (client) => {
    const socket = await client.connect();
    socket.write("POST /text HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\npart");
    await new Promise((resolve) => setTimeout(resolve, 30));
    socket.destroy();
    return post(client, "/echo", "still here");
  },
  "still here",
);
