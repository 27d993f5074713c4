// The editor of the specification, and the one that shows generated text.
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { go } from "@codemirror/lang-go";
import { PostgreSQL, SQLite, sql } from "@codemirror/lang-sql";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, search, searchKeymap } from "@codemirror/search";
import { EditorState } from "@codemirror/state";
import { EditorView, drawSelection, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags as t } from "@lezer/highlight";

const mono = 'ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace';

const look = EditorView.theme({
  "&": { backgroundColor: "var(--page)", color: "var(--text)", fontSize: ".86rem", height: "100%" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: mono, lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--panel)", color: "var(--muted)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--soft) 55%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--soft)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--select)" },
  ".cm-selectionMatch": { backgroundColor: "var(--soft)" },
  ".cm-matchingBracket": { backgroundColor: "var(--mark)", outline: "none" },
  ".cm-panels, .cm-tooltip": { backgroundColor: "var(--panel)", color: "var(--text)", border: "1px solid var(--strong)" },
  ".cm-tooltip": { maxWidth: "min(46rem, 92vw)", borderRadius: "6px" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: mono },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--accent-text)" },
  ".cm-completionDetail": { color: "inherit", opacity: ".85" },
  ".cm-completionInfo": { maxWidth: "26rem", padding: "6px 10px" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap" },
  ".cm-diagnosticAction": { backgroundColor: "var(--accent)", color: "var(--accent-text)", borderRadius: "5px", padding: "2px 8px", margin: "4px 6px 2px 0" },
  ".cm-textfield": { backgroundColor: "var(--page)", border: "1px solid var(--strong)", color: "var(--text)" },
  ".cm-button": { background: "var(--page)", border: "1px solid var(--strong)", color: "var(--text)" },
});

const colours = syntaxHighlighting(HighlightStyle.define([
  { tag: [t.comment, t.meta], color: "var(--muted)", fontStyle: "italic" },
  { tag: [t.keyword, t.definitionKeyword, t.controlKeyword, t.modifier], color: "var(--hl-word)" },
  { tag: [t.propertyName, t.definition(t.propertyName)], color: "var(--hl-key)" },
  { tag: [t.string, t.special(t.string)], color: "var(--hl-text)" },
  { tag: [t.number, t.bool, t.null, t.atom], color: "var(--hl-number)" },
  { tag: [t.typeName, t.definition(t.typeName)], color: "var(--hl-type)" },
  { tag: t.function(t.definition(t.variableName)), color: "var(--hl-key)" },
]));

const base = [lineNumbers(), drawSelection(), highlightSelectionMatches(), search({ top: true }), look, colours,
  keymap.of([...searchKeymap, ...lintKeymap])];

/** editor makes the editor. changed is called at each change by hand; complete offers words. */
export function editor(parent, { changed, complete }) {
  return new EditorView({
    parent,
    state: EditorState.create({ doc: "", extensions: [
      base, history(), indentOnInput(), bracketMatching(), closeBrackets(), highlightActiveLine(), highlightActiveLineGutter(), lintGutter(), yaml(),
      autocompletion({ override: [complete] }), EditorState.tabSize.of(2),
      EditorView.contentAttributes.of({ "aria-label": "Specification, YAML. Escape and then Tab leaves the editor.", spellcheck: "false", tabindex: "0" }),
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, indentWithTab]),
      EditorView.updateListener.of((u) => { if (u.docChanged) changed(u.state.doc.toString()); }),
    ] }),
  });
}

const languages = { go: () => go(), sqlite: () => sql({ dialect: SQLite }), postgres: () => sql({ dialect: PostgreSQL }) };

/** reader shows a text that was generated. */
export function reader(parent, text, language, label) {
  parent.replaceChildren();
  return new EditorView({
    parent,
    state: EditorState.create({ doc: text, extensions: [
      base, keymap.of(defaultKeymap), EditorState.readOnly.of(true), languages[language]?.() ?? [],
      EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": "true", tabindex: "0" }), EditorView.editable.of(false),
    ] }),
  });
}

/** offsetOf is the position of a place: lines and characters, not UTF-16 units, count from 1. */
function offsetOf(doc, line, column, length = 0) {
  const l = doc.line(Math.min(Math.max(line, 1), doc.lines));
  const units = (text, n) => Array.from(text).slice(0, n).join("").length;
  const from = l.from + units(l.text, column - 1);
  return [from, from + units(doc.sliceString(from, Math.min(doc.length, from + 2 * length)), length)];
}

export const placed = (view, at) => offsetOf(view.state.doc, at.line, at.column, at.length ?? 0);

/** edits are what CodeMirror makes of the edits of a finding. */
export const edits = (view, list) => list.map((e) => { const [from, to] = placed(view, e); return { from, to, insert: e.text }; });

/** underline marks findings; each may have a fix. */
export function underline(view, findings, fixOf, apply) {
  const list = findings.map((f, i) => {
    let [from, to] = placed(view, f.place);
    const fix = fixOf(i);
    return {
      from, to: Math.max(to, from), severity: f.severity === "error" ? "error" : f.severity === "warning" ? "warning" : "info", source: f.code,
      message: f.message + (f.hint ? "\n" + f.hint : ""), actions: fix ? [{ name: fix.choice ? "Fix it this way" : "Fix it", apply: () => apply(fix) }] : [],
    };
  });
  view.dispatch(setDiagnostics(view.state, list));
}
