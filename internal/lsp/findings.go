package lsp

import (
	"context"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// put makes a document the newest version of its file, and has its findings looked for
// after a pause. One search runs at a time for a file: it goes on with the version that
// is the newest then, so those between are never looked at.
func (s *server) put(ctx context.Context, conn *jsonrpc2.Conn, d *document, pause time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.documents[d.uri] = d
	if s.looking[d.uri] || s.down {
		return
	}
	s.looking[d.uri] = true
	go s.look(ctx, conn, d.uri, pause)
}

// look publishes the findings of a file until the newest version has been looked at.
func (s *server) look(ctx context.Context, conn *jsonrpc2.Conn, uri string, pause time.Duration) {
	var told *document
	for {
		d := s.settled(ctx, uri, pause)
		s.mu.Lock()
		if d == nil || d == told {
			if now := s.documents[uri]; now == nil || now == told || ctx.Err() != nil {
				delete(s.looking, uri)
				s.mu.Unlock()
				return
			}
		}
		s.mu.Unlock()
		if d == nil { // it was closed, and is open again
			continue
		}
		told = d
		found, err := s.safely("findings", func() (any, error) { return d.diagnostics(), nil })
		if err != nil {
			_ = conn.Notify(ctx, "window/logMessage", logMessage{1, err.Error()})
			continue
		}
		list, _ := found.([]diagnostic)
		s.publish(ctx, conn, d, list)
		pause = s.options.Pause
	}
}

// publish tells the findings of a version, if it is the newest one. Who closes the file waits
// for it, and takes them back.
func (s *server) publish(ctx context.Context, conn *jsonrpc2.Conn, d *document, list []diagnostic) {
	s.telling.Lock()
	defer s.telling.Unlock()
	if s.newest(d.uri) == d {
		_ = conn.Notify(ctx, "textDocument/publishDiagnostics", diagnosticsParams{d.uri, d.number, list})
	}
}

// settled waits until a file has not changed for the pause, or for ten of them where
// nobody stops typing, and returns its newest version; nil when it is closed, or nobody is there.
func (s *server) settled(ctx context.Context, uri string, pause time.Duration) *document {
	const most = 10
	d := s.newest(uri)
	for range most {
		before := d
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		if d = s.newest(uri); d == before {
			break
		}
	}
	return d
}

// diagnostics are the findings of the version for the editor.
func (d *document) diagnostics() []diagnostic {
	list := []diagnostic{}
	if !d.specification {
		return list
	}
	for _, f := range d.check() {
		list = append(list, d.diagnosticOf(f))
	}
	return list
}

func (d *document) diagnosticOf(f spec.Diagnostic) diagnostic {
	severity := map[spec.Severity]int{spec.Error: 1, spec.Warning: 2, spec.Info: 3}
	out := diagnostic{
		Range: d.rangeOf(f.Pos, max(f.Len, 1)), Severity: severity[f.Severity], Code: f.Code, Source: "fsmgen", Message: messageOf(f),
	}
	if out.Range.Start.Line != out.Range.End.Line { // a mark ends with its line
		out.Range.End = position{out.Range.Start.Line, units(d.line(out.Range.Start.Line))}
	}
	if _, known := validate.Explain(f.Code); known {
		out.About = &codeDescription{validate.PageOf(f.Code)}
	}
	for _, r := range f.Related {
		out.Related = append(out.Related, relatedLocation{location{d.uri, d.rangeOf(r.Pos, 1)}, r.Message})
	}
	return out
}

// messageOf is all that a finding says.
func messageOf(f spec.Diagnostic) string {
	message := f.Message
	for _, more := range []struct{ what, text string }{{"before", f.Before}, {"after", f.After}, {"hint", f.Hint}} {
		if more.text != "" {
			message += "\n" + more.what + ": " + more.text
		}
	}
	return message
}
