export const value = await Promise.resolve("awaited");
