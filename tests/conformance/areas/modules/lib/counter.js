// A module with state, imported from several places.
export let count = 0;
export function increment() {
  count++;
}
export { count as alias };
export default "counter";
export const url = import.meta.url;
