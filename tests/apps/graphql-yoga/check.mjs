export default async function ({ ask, see, open }) {
  const query = (name, body, data, more = {}) =>
    ask(
      "POST /graphql",
      { name, body, ...more },
      { headers: { "content-type": "application/json; charset=utf-8", "x-plugin": "yes" }, body: { data } },
    );

  await query("a query", { query: "{ hello }" }, { hello: "Hello, world!" });
  await query("the context", { query: "{ owner agent }" }, { owner: "Ada", agent: "test" }, { headers: { "user-agent": "test" } });
  await query(
    "variables",
    { query: 'query Q($name: String) { hello(name: $name) again: hello(name: "x") }', variables: { name: "Ada" } },
    { hello: "Hello, Ada!", again: "Hello, x!" },
  );
  await query("one operation of two", { query: "query A { hello } query B { owner }", operationName: "B" }, { owner: "Ada" });
  await query(
    "nested types",
    { query: "{ notes { id text(length: 2) tags author { name notes { __typename id } } } }" },
    { notes: [{ id: "1", text: "fi", tags: ["a"], author: { name: "Ada", notes: [{ __typename: "Note", id: "1" }] } }] },
  );
  await query(
    "fragments, unions and interfaces",
    {
      query:
        '{ search(text: "first") { __typename ... on Note { ...n } ... on Author { name } } node(id: "1") { id ...n } } fragment n on Note { text }',
    },
    {
      search: [
        { __typename: "Note", text: "first" },
        { __typename: "Author", name: "Ada" },
      ],
      node: { id: "1", text: "first" },
    },
  );
  await query(
    "a scalar",
    { query: 'query($d: Day!) { day(after: $d) literal: day(after: "2026-02-28") }', variables: { d: "2026-12-31" } },
    { day: "2027-01-01", literal: "2026-03-01" },
  );
  await query(
    "directives",
    { query: "query($no: Boolean!) { hello @skip(if: $no) owner @include(if: $no) }", variables: { no: true } },
    { owner: "Ada" },
  );
  await query(
    "introspection",
    { query: '{ __type(name: "Note") { description fields { name type { kind ofType { name } } } } }' },
    {
      __type: {
        description: "A note.",
        fields: [
          { name: "id", type: { kind: "NON_NULL", ofType: { name: "ID" } } },
          { name: "text", type: { kind: "NON_NULL", ofType: { name: "String" } } },
          { name: "tags", type: { kind: "NON_NULL", ofType: { name: null } } },
          { name: "author", type: { kind: "NON_NULL", ofType: { name: "Author" } } },
        ],
      },
    },
  );
  await ask(
    `GET /graphql?query=${encodeURIComponent("query($n: String) { hello(name: $n) }")}&variables=${encodeURIComponent('{"n":"GET"}')}`,
    { body: { data: { hello: "Hello, GET!" } } },
  );
  await ask(
    "POST /graphql",
    { name: "a query as a form", headers: { "content-type": "application/x-www-form-urlencoded" }, body: "query=%7B+hello+%7D" },
    { body: { data: { hello: "Hello, world!" } } },
  );
  await ask(
    "POST /graphql",
    { name: "a query as it is", headers: { "content-type": "application/graphql" }, body: "{ hello }" },
    { body: { data: { hello: "Hello, world!" } } },
  );
  await ask(
    "POST /graphql",
    { name: "a batch", body: [{ query: "{ hello }" }, { query: "{ owner }" }] },
    { body: [{ data: { hello: "Hello, world!" } }, { data: { owner: "Ada" } }] },
  );
  await ask("POST /graphql", { name: "a large batch", body: [1, 2, 3].map(() => ({ query: "{ hello }" })) }, { status: 413 });
  await ask(
    "POST /graphql",
    { name: "the media type of the specification", headers: { accept: "application/graphql-response+json" }, body: { query: "{ hello }" } },
    { headers: { "content-type": "application/graphql-response+json; charset=utf-8" }, body: { data: { hello: "Hello, world!" } } },
  );

  await query(
    "a mutation",
    { query: "mutation($note: NewNote!) { add(note: $note) { id text tags } }", variables: { note: { text: "second" } } },
    { add: { id: "2", text: "second", tags: [] } },
  );
  await query("what it changed", { query: "{ notes(order: DOWN) { id } }" }, { notes: [{ id: "2" }, { id: "1" }] });
  await ask(`GET /graphql?query=${encodeURIComponent('mutation { add(note: { text: "x" }) { id } }')}`, {
    status: 405,
    headers: { allow: "POST" },
  });
  const part = (name, text) => `--XX\r\nContent-Disposition: form-data; name=${name}\r\n\r\n${text}\r\n`;
  const upload = [
    part('"operations"', JSON.stringify({ query: "mutation($file: File!) { upload(file: $file) }", variables: { file: null } })),
    part('"map"', '{"0":["variables.file"]}'),
    part('"0"; filename="a.txt"\r\nContent-Type: text/x-a', "the text"),
  ];
  await ask(
    "POST /graphql",
    { name: "an upload", headers: { "content-type": "multipart/form-data; boundary=XX" }, body: `${upload.join("")}--XX--\r\n` },
    { body: { data: { upload: "a.txt text/x-a the text" } } },
  );

  const error = (name, body, wanted) => ask("POST /graphql", { name, body }, wanted);
  await error(
    "an error with its code",
    { query: "{ hello wrong }" },
    {
      status: 422,
      headers: { "x-error": "yes" },
      body: {
        data: { hello: "Hello, world!", wrong: null },
        errors: [
          { message: "wrong, and it may be said", path: ["wrong"], locations: [{ line: 1, column: 9 }], extensions: { code: "WRONG" } },
        ],
      },
    },
  );
  await error(
    "an error that is masked",
    { query: "{ secret }" },
    {
      body: {
        data: { secret: null },
        errors: [
          {
            message: "Unexpected error.",
            path: ["secret"],
            locations: [{ line: 1, column: 3 }],
            extensions: { code: "INTERNAL_SERVER_ERROR" },
          },
        ],
      },
    },
  );
  await error(
    "null for what is never null",
    { query: "{ required }" },
    { body: (text) => JSON.parse(text).data === null && /INTERNAL_SERVER_ERROR/.test(text) },
  );
  await error(
    "an unknown field",
    { query: "{ helo }" },
    {
      body: {
        errors: [
          {
            message: 'Cannot query field "helo" on type "Query". Did you mean "hello"?',
            locations: [{ line: 1, column: 3 }],
            extensions: { code: "GRAPHQL_VALIDATION_FAILED" },
          },
        ],
      },
    },
  );
  await error("a syntax error", { query: "{ hello" }, { body: (text) => JSON.parse(text).errors[0].message.startsWith("Syntax Error") });
  await error("a missing variable", { query: "query($d: Day!) { day(after: $d) }" }, { status: 400, body: /\$d/ });
  await error(
    "no query",
    {},
    { headers: { allow: "GET, POST" }, body: { errors: [{ message: "Must provide query string.", extensions: { code: "BAD_REQUEST" } }] } },
  );
  await ask("POST /graphql", { name: "broken JSON", headers: { "content-type": "application/json" }, body: "{" }, { status: 400 });
  await ask("POST /graphql", { name: "another media type", headers: { "content-type": "text/x-nothing" }, body: "x" }, { status: 415 });
  await ask(
    "GET /graphql",
    { headers: { accept: "text/html" } },
    { headers: { "content-type": "text/html" }, body: /<title>Notes<\/title>/ },
  );
  await ask("GET /nowhere", { status: 404 });
  await ask("GET /health", { status: 200 });
  await ask(
    "OPTIONS /graphql",
    { headers: { origin: "https://a.test", "access-control-request-method": "POST", "access-control-request-headers": "content-type" } },
    {
      status: 204,
      headers: {
        "access-control-allow-origin": "https://a.test",
        "access-control-allow-credentials": "true",
        "access-control-allow-headers": "content-type",
      },
    },
  );

  const events = { accept: "text/event-stream" };
  const event = (data) => `event: next\ndata: ${JSON.stringify(data)}\n\n`;
  await ask(
    "POST /graphql",
    { name: "a subscription", headers: events, body: { query: "subscription { countdown(from: 2) }" } },
    {
      headers: { "content-type": "text/event-stream", "cache-control": "no-cache" },
      body: `:\n\n${[2, 1, 0].map((countdown) => event({ data: { countdown } })).join("")}event: complete\ndata:\n\n`,
    },
  );
  await ask(
    `GET /graphql?query=${encodeURIComponent("subscription { countdown(from: 0) }")}`,
    { headers: events },
    { body: /event: next\ndata: \{"data":\{"countdown":0\}\}\n\nevent: complete/ },
  );
  await ask(
    "POST /graphql",
    { name: "a subscription that fails", headers: events, body: { query: "subscription { broken }" } },
    { body: /"broken":1[^]*broken on the way[^]*event: complete/ },
  );
  await ask(
    "POST /graphql",
    { name: "a query as events", headers: events, body: { query: "{ hello }" } },
    { body: /event: next\ndata: \{"data":\{"hello":"Hello, world!"\}\}\n\nevent: complete/ },
  );
  const live = await open("/graphql", { method: "POST", headers: events, body: { query: "subscription { countdown(from: 1000) }" } });
  await see(
    "events come one by one",
    live.until(/"countdown":998\}\}\n\n/),
    `:\n\n${[1000, 999, 998].map((countdown) => event({ data: { countdown } })).join("")}`,
  );
  live.stop();
  await query("after a client has gone", { query: "{ slow(ms: 30) }" }, { slow: 30 });
}
