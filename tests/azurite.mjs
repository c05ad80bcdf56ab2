// Creates the container `celld-test` in Azurite, as the tests want it: node tests/azurite.mjs http://127.0.0.1:PORT
import { createHmac } from "node:crypto";

// The account of the emulator is public.
const account = "devstoreaccount1";
const key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
const container = "celld-test";

const date = new Date().toUTCString();
const version = "2021-12-02";
const resource = `/${account}/${account}/${container}\nrestype:container`;
const text = `PUT\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:${date}\nx-ms-version:${version}\n${resource}`;
const signature = createHmac("sha256", Buffer.from(key, "base64")).update(text).digest("base64");

const answer = await fetch(`${process.argv[2]}/${account}/${container}?restype=container`, {
  method: "PUT",
  headers: { "x-ms-date": date, "x-ms-version": version, authorization: `SharedKey ${account}:${signature}` },
});
if (!answer.ok && answer.status !== 409) {
  console.error(`Azurite: ${answer.status} ${await answer.text()}`);
  process.exit(1);
}
