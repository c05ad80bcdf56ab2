import type { Note } from "./notes";

export const Page = ({ notes }: { notes: Note[] }) => (
  <html lang="en">
    <head>
      <meta charset="utf-8" />
      <title>Notes</title>
    </head>
    <body>
      <h1>Notes</h1>
      <ul>
        {notes.map((note) => (
          <li>{note.text}</li>
        ))}
      </ul>
    </body>
  </html>
);
