import { suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

const date = new Date(Date.UTC(2024, 1, 29, 13, 5, 9, 7));
const locales = [
  "en-US",
  "en-GB",
  "de-DE",
  "fr-FR",
  "ja-JP",
  "ar-EG",
  "hi-IN",
  "th-TH",
  "zh-Hant-TW",
  "fa-IR",
  "he-IL",
  "ru-RU",
  "pt-BR",
  "tr-TR",
];
for (const locale of locales) {
  test(`date ${locale}`, () => [
    date.toLocaleString(locale),
    date.toLocaleDateString(locale, { dateStyle: "full" }),
    date.toLocaleTimeString(locale, { timeStyle: "long", timeZone: "America/New_York" }),
  ]);
  test(`number ${locale}`, () => [
    (1234567.891).toLocaleString(locale),
    (1234.5).toLocaleString(locale, { style: "currency", currency: "EUR" }),
    (0.256).toLocaleString(locale, { style: "percent", maximumFractionDigits: 1 }),
    (12345).toLocaleString(locale, { notation: "compact" }),
    (5).toLocaleString(locale, { style: "unit", unit: "kilometer-per-hour" }),
  ]);
  test(`sort ${locale}`, () => ["z", "ä", "a", "Z", "é", "e", "ö", "o"].sort(new Intl.Collator(locale).compare));
  test(`names ${locale}`, () => [
    new Intl.DisplayNames(locale, { type: "region" }).of("CH"),
    new Intl.DisplayNames(locale, { type: "language" }).of("ja"),
    new Intl.DisplayNames(locale, { type: "currency" }).of("USD"),
  ]);
  test(`relative ${locale}`, () => [
    new Intl.RelativeTimeFormat(locale, { numeric: "auto" }).format(-1, "day"),
    new Intl.RelativeTimeFormat(locale).format(3, "week"),
    new Intl.ListFormat(locale).format(["a", "b", "c"]),
    new Intl.PluralRules(locale).select(2),
    new Intl.PluralRules(locale, { type: "ordinal" }).select(2),
  ]);
  test(`case ${locale}`, () => ["Iİıi".toLocaleLowerCase(locale), "iıß".toLocaleUpperCase(locale)]);
}
const cases = {
  "the default locale": () => [Intl.DateTimeFormat().resolvedOptions().locale, Intl.NumberFormat().resolvedOptions().locale],
  "the default time zone": () => Intl.DateTimeFormat().resolvedOptions().timeZone,
  "toString of a date": () => [date.toString(), date.toDateString(), date.toTimeString(), date.toUTCString(), date.getTimezoneOffset()],
  "toLocaleString without a locale": () => [date.toLocaleString(), (1234.5).toLocaleString()],
  parse: () =>
    ["2024-02-29", "2024-02-29T13:05", "Feb 29, 2024", "29 Feb 2024 13:05:09 GMT", "2024-02-30", "x"].map((text) => Date.parse(text)),
  "segmenter: graphemes": () => [...new Intl.Segmenter("en", { granularity: "grapheme" }).segment("👨‍👩‍👧é🇨🇭")].map(({ segment }) => segment),
  "segmenter: words": () =>
    [...new Intl.Segmenter("en", { granularity: "word" }).segment("It's 5 o'clock.")]
      .filter(({ isWordLike }) => isWordLike)
      .map(({ segment }) => segment),
  "segmenter: Japanese": () =>
    [...new Intl.Segmenter("ja", { granularity: "word" }).segment("吾輩は猫である")].map(({ segment }) => segment),
  normalize: () => ["é".normalize("NFD").length, "e\u0301".normalize("NFC").length, "ﬁ".normalize("NFKC")],
  localeCompare: () => [
    "a".localeCompare("B"),
    "a".localeCompare("á", undefined, { sensitivity: "base" }),
    "10".localeCompare("9", undefined, { numeric: true }),
  ],
  calendars: () =>
    ["buddhist", "hebrew", "islamic-umalqura", "japanese", "persian", "chinese"].map((calendar) =>
      new Intl.DateTimeFormat("en", { calendar, dateStyle: "medium" }).format(date),
    ),
  "time zones": () =>
    ["Asia/Kolkata", "Pacific/Apia", "America/Sao_Paulo", "Europe/Dublin", "+05:30"].map((timeZone) =>
      new Intl.DateTimeFormat("en", { timeZone, timeStyle: "full", dateStyle: "short" }).format(date),
    ),
  "a time zone that is none": () => new Intl.DateTimeFormat("en", { timeZone: "Nope/Nope" }),
  "a range": () => new Intl.DateTimeFormat("en", { dateStyle: "medium" }).formatRange(date, new Date(+date + 5 * 86400000)),
  parts: () => new Intl.NumberFormat("de", { style: "currency", currency: "EUR" }).formatToParts(-1234.5),
  durations: () => (Intl.DurationFormat ? new Intl.DurationFormat("en", { style: "long" }).format({ hours: 1, minutes: 2 }) : "absent"),
  locales: () => [
    new Intl.Locale("zh").maximize().toString(),
    Intl.getCanonicalLocales("EN-us"),
    Intl.NumberFormat.supportedLocalesOf(["tlh", "de", "gsw"]),
  ],
  "a locale that is none": () => new Intl.Locale("x"),
  supportedValuesOf: () =>
    ["calendar", "collation", "currency", "numberingSystem", "unit"].map((key) => Intl.supportedValuesOf(key).length),
  "supportedValuesOf time zones": () => Intl.supportedValuesOf("timeZone").length > 400,
  "regular expressions with properties": () => [/\p{Script=Greek}/u.test("α"), /^\p{RGI_Emoji}$/v.test("👨‍👩‍👧"), "Straße".match(/ss/i)],
  BigInt: () => 12345678901234567890n.toLocaleString("de"),
};
for (const [name, run] of Object.entries(cases)) test(name, run);
