// Loads the page again when the node serves another deployment than the one that rendered it.
(() => {
  const rendered = document.currentScript?.dataset.deployment;
  const reloadedFor = "celld-live-reload";
  let events;

  function changed(deployment) {
    if (deployment === rendered) return;
    // A page the browser cache answers keeps its old id: reload at most once for each deployment.
    if (sessionStorage.getItem(reloadedFor) === deployment) return;
    sessionStorage.setItem(reloadedFor, deployment);
    location.reload();
  }

  function connect() {
    if (events || document.visibilityState === "hidden") return;
    events = new EventSource("/.well-known/celld/live");
    events.onmessage = (event) => changed(event.data);
    events.onerror = () => {
      // The browser retries a lost connection by itself, but gives up after a response that is no stream.
      if (events?.readyState !== EventSource.CLOSED) return;
      events = undefined;
      setTimeout(connect, 500);
    };
  }

  // A browser opens six connections to a host: hidden tabs leave theirs to the visible one and catch up when shown.
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "hidden") {
      events?.close();
      events = undefined;
    } else {
      connect();
    }
  });
  connect();
})();
