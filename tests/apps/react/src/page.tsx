import {
  Component,
  createContext,
  lazy,
  memo,
  type ReactNode,
  Suspense,
  use,
  useContext,
  useId,
  useMemo,
  useReducer,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { preload, preinit, prefetchDNS } from "react-dom";

const Theme = createContext("light");

export function Document({ title, children }: { title: string; children: ReactNode }) {
  return (
    <html lang="en">
      <head>
        <meta charSet="utf-8" />
      </head>
      <body>
        <title>{title}</title>
        <Suspense fallback={<p>waiting</p>}>{children}</Suspense>
      </body>
    </html>
  );
}

/** Suspends, as a component does that reads what is not here yet. */
export function Late({ after, text }: { after: number; text: string }) {
  const promise = useLater(after, text);
  return <p>{use(promise)}</p>;
}

const waiting = new Map<string, Promise<string>>();
function useLater(after: number, text: string) {
  const id = `${useId()} ${text}`;
  let promise = waiting.get(id);
  if (!promise) {
    promise = new Promise<string>((resolve) => setTimeout(resolve, after, text)).finally(() => setTimeout(() => waiting.delete(id), 20));
    waiting.set(id, promise);
  }
  return promise;
}

export function Broken(): ReactNode {
  throw new Error("a broken part");
}

const Lazy = lazy(async () => {
  await new Promise((resolve) => setTimeout(resolve, 10));
  return { default: ({ text }: { text: string }) => <em>{text}</em> };
});

const Pure = memo(({ n }: { n: number }) => <i>{n}</i>);

function Themed() {
  return <b className={useContext(Theme)}>{use(Theme)}</b>;
}

class Old extends Component<{ name: string }, { name: string }> {
  static getDerivedStateFromProps = ({ name }: { name: string }) => ({ name: name.toUpperCase() });
  state = { name: "" };
  render() {
    return <u>{this.state.name}</u>;
  }
}

export function Page() {
  preload("/font.woff2", { as: "font", type: "font/woff2", crossOrigin: "anonymous" });
  preinit("/style.css", { as: "style", precedence: "default" });
  prefetchDNS("https://cdn.test");
  return (
    <html lang="en">
      <head>
        <meta charSet="utf-8" />
      </head>
      <body>
        <title>A page</title>
        <link rel="stylesheet" href="/late.css" precedence="low" />
        <Theme value="dark">
          <Themed />
          <Old name="class" />
          <Pure n={1} />
          <Suspense fallback={<p>waiting for late</p>}>
            <Late after={400} text="late" />
          </Suspense>
          <Suspense fallback={<p>waiting for soon</p>}>
            <Late after={150} text="soon" />
            <Lazy text="lazy" />
          </Suspense>
          <Suspense fallback={<p>instead of what is broken</p>}>
            <Broken />
          </Suspense>
        </Theme>
      </body>
    </html>
  );
}

export const Escapes = ({ text }: { text: string }) => (
  <div
    title={text}
    data-n={1}
    aria-hidden={true}
    style={{ color: "red", lineHeight: 2, marginTop: 3, WebkitFlex: 1 }}
    dangerouslySetInnerHTML={undefined}
  >
    {text} and {2}
    {null}
    {[<i key="a">a</i>, "b"]}
    <script dangerouslySetInnerHTML={{ __html: "1 < 2" }} />
    <svg viewBox="0 0 1 1">
      <path strokeWidth={2} xlinkHref="#a" />
    </svg>
  </div>
);

export function Hooks({ start }: { start: number }) {
  const [n] = useState(() => start + 1);
  const [sum] = useReducer(
    (a: number, b: number) => a + b,
    n,
    (first) => first * 2,
  );
  const double = useMemo(() => sum * 2, [sum]);
  const ref = useRef("ref");
  const store = useSyncExternalStore(
    () => () => {},
    () => "client",
    () => "server",
  );
  return (
    <p id={useId()}>
      {n} {sum} {double} {ref.current} {store}
    </p>
  );
}

export const Form = () => (
  <form action="/send" method="post">
    <input name="a" defaultValue="x" disabled readOnly={false} />
    <input type="checkbox" defaultChecked />
    <select name="s" defaultValue={["2"]} multiple>
      <option value="1">one</option>
      <option value="2">two</option>
    </select>
    <textarea defaultValue={"\nlines"} />
  </form>
);
