// What the cases of this area read from.

export const bytes = (text) => new TextEncoder().encode(text);
export const text = (data) => new TextDecoder().decode(data);

export async function collect(stream) {
  const out = [];
  for await (const chunk of stream) out.push(chunk);
  return out;
}

export function source(...chunks) {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
}

/** Each chunk is one pull. */
export function byteSource(...chunks) {
  return new ReadableStream({
    type: "bytes",
    pull(controller) {
      if (chunks.length) controller.enqueue(bytes(chunks.shift()));
      else controller.close();
    },
  });
}
