// node:diagnostics_channel with the exports that the platform has.

import base, { tracingChannel } from "node:diagnostics_channel";

// Deno does not export the class.
const TracingChannel = tracingChannel("celld:class").constructor;

const module = { ...base, TracingChannel };

export const {
  Channel, channel, hasSubscribers, subscribe, unsubscribe,
} = module;
export { TracingChannel, tracingChannel };
export default {
  Channel, TracingChannel, channel, hasSubscribers, subscribe, tracingChannel, unsubscribe,
};
