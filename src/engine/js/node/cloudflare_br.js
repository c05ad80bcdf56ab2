// The module `cloudflare:br`: a wrapper of a binding that does not exist here.

class BrowserRendering {
  constructor(fetcher) {
    this.fetcher = fetcher;
  }
  async fetch(input, init) {
    return this.fetcher.fetch(input, init);
  }
}

export { BrowserRendering };
