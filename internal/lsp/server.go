package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/url"
	"path"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"
)

// Options are how a server behaves.
type Options struct {
	Version string        // of the program, told to the editor
	Pause   time.Duration // without a change before findings are looked for
}

// Serve speaks with one editor over a stream, until the editor says `exit`, the stream
// ends or the context does. It is an error when that comes without `shutdown`.
func Serve(ctx context.Context, stream io.ReadWriteCloser, o Options) error {
	s := &server{
		options: o, exit: make(chan struct{}), keepStored: true,
		documents: map[string]*document{}, looking: map[string]bool{}, pending: map[string]context.CancelFunc{},
	}
	quiet := jsonrpc2.SetLogger(log.New(io.Discard, "", 0))
	conn := jsonrpc2.NewConn(ctx, jsonrpc2.NewBufferedStream(stream, jsonrpc2.VSCodeObjectCodec{}), s, quiet)
	select {
	case <-s.exit:
		_ = conn.Close() // the editor has gone already, or goes
	case <-conn.DisconnectNotify():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.down {
		return errors.New("the editor went away without `shutdown`")
	}
	return nil
}

type server struct {
	options Options
	exit    chan struct{}

	mu         sync.Mutex
	telling    sync.Mutex           // findings are told, or taken back; before mu
	documents  map[string]*document // the newest version of each open file
	looking    map[string]bool      // files whose findings are looked for
	pending    map[string]context.CancelFunc
	keepStored bool
	down       bool // shutdown was asked for
}

// requests are the methods that answer about a document, of the version at hand.
var requests = map[string]func(s *server, d *document, params json.RawMessage) (any, error){
	"textDocument/completion":        about(completion),
	"textDocument/hover":             about(hoverAt),
	"textDocument/definition":        about(definition),
	"textDocument/references":        about(references),
	"textDocument/documentHighlight": about(highlights),
	"textDocument/documentSymbol":    about(symbols),
	"textDocument/codeAction":        about(actions),
	"textDocument/codeLens":          about(lenses),
	"textDocument/formatting":        about(formatting),
	"textDocument/prepareRename":     about(prepareRename),
	"textDocument/rename": func(s *server, d *document, params json.RawMessage) (any, error) {
		var p renameParams
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, invalid(err)
		}
		s.mu.Lock()
		keep := s.keepStored
		s.mu.Unlock()
		return rename(d, p, keep)
	},
}

// about makes a method of a function of a document.
func about[P, R any](answer func(*document, P) (R, error)) func(*server, *document, json.RawMessage) (any, error) {
	return func(_ *server, d *document, params json.RawMessage) (any, error) {
		var p P
		if err := json.Unmarshal(params, &p); err != nil {
			return nil, invalid(err)
		}
		return answer(d, p)
	}
}

func invalid(err error) error {
	return &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidParams, Message: err.Error()}
}

// failed says to the person why a request cannot be done.
func failed(format string, args ...any) error {
	const requestFailed = -32803
	return &jsonrpc2.Error{Code: requestFailed, Message: fmt.Sprintf(format, args...)}
}

// Handle takes a message. What changes a document is done before the next message is
// read; requests are answered beside, each of the version that it came to.
func (s *server) Handle(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request) {
	var params json.RawMessage
	if r.Params != nil {
		params = *r.Params
	}
	answer, known := requests[r.Method]
	switch {
	case r.Notif:
		_, err := s.safely(r.Method, func() (any, error) { return nil, s.notice(ctx, conn, r.Method, params) })
		if err != nil {
			_ = conn.Notify(ctx, "window/logMessage", logMessage{1, err.Error()})
		}
	case !known:
		result, err := s.safely(r.Method, func() (any, error) { return s.lifecycle(r.Method, params) })
		s.reply(ctx, conn, r, result, err)
	default:
		s.request(ctx, conn, r, func(d *document) (any, error) { return answer(s, d, params) }, params)
	}
}

// request answers beside the loop that reads.
func (s *server) request(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request,
	answer func(*document) (any, error), params json.RawMessage,
) {
	var of at
	err := json.Unmarshal(params, &of)
	s.mu.Lock()
	d := s.documents[of.Document.URI]
	down := s.down
	ctx, cancel := context.WithCancel(ctx)
	s.pending[r.ID.String()] = cancel
	s.mu.Unlock()
	go func() {
		defer func() {
			s.mu.Lock()
			delete(s.pending, r.ID.String())
			s.mu.Unlock()
			cancel()
		}()
		switch {
		case err != nil:
			s.reply(ctx, conn, r, nil, invalid(err))
		case down:
			s.reply(ctx, conn, r, nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInvalidRequest, Message: "the server is shut down"})
		case d == nil:
			s.reply(ctx, conn, r, nil, invalid(fmt.Errorf("%s is not open", of.Document.URI)))
		default:
			result, err := s.safely(r.Method, func() (any, error) { return answer(d) })
			s.reply(ctx, conn, r, result, err)
		}
	}()
}

// safely makes an error of a panic.
func (s *server) safely(method string, do func() (any, error)) (result any, err error) {
	defer func() {
		if p := recover(); p != nil {
			result, err = nil, &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError,
				Message: fmt.Sprintf("%s: a bug in fsmgen, please report it with the specification: %v\n%s", method, p, debug.Stack())}
		}
	}()
	return do()
}

func (s *server) reply(ctx context.Context, conn *jsonrpc2.Conn, r *jsonrpc2.Request, result any, err error) {
	const cancelled = -32800
	if ctx.Err() != nil && err == nil {
		err = &jsonrpc2.Error{Code: cancelled, Message: "the request was cancelled"}
	}
	if err != nil {
		var e *jsonrpc2.Error
		if !errors.As(err, &e) {
			e = &jsonrpc2.Error{Code: jsonrpc2.CodeInternalError, Message: err.Error()}
		}
		_ = conn.ReplyWithError(ctx, r.ID, e) // an editor that went away
		return
	}
	_ = conn.Reply(ctx, r.ID, result)
}

// lifecycle answers what is about no document.
func (s *server) lifecycle(method string, params json.RawMessage) (any, error) {
	switch method {
	case "initialize":
		var p initializeParams
		_ = json.Unmarshal(params, &p) // options of another form say nothing
		s.mu.Lock()
		s.keepStored = p.Options.KeepStored == nil || *p.Options.KeepStored
		s.mu.Unlock()
		return map[string]any{
			"capabilities": capabilities,
			"serverInfo":   map[string]string{"name": "fsmgen", "version": s.options.Version},
		}, nil
	case "shutdown":
		s.mu.Lock()
		s.down = true
		s.mu.Unlock()
		return nil, nil
	}
	return nil, &jsonrpc2.Error{Code: jsonrpc2.CodeMethodNotFound, Message: method + " is not known"}
}

// notice takes a message that nobody waits for.
func (s *server) notice(ctx context.Context, conn *jsonrpc2.Conn, method string, params json.RawMessage) error {
	switch method {
	case "textDocument/didOpen":
		var p openParams
		if err := json.Unmarshal(params, &p); err != nil {
			return err
		}
		s.put(ctx, conn, newDocument(p.Document.URI, p.Document.Version, newText(p.Document.Text), nil), 0)
	case "textDocument/didChange":
		var p changeParams
		if err := json.Unmarshal(params, &p); err != nil {
			return err
		}
		if before := s.newest(p.Document.URI); before != nil {
			s.put(ctx, conn, newDocument(before.uri, p.Document.Version, before.changed(p.Changes), before), s.options.Pause)
		}
	case "textDocument/didClose":
		var p at
		if err := json.Unmarshal(params, &p); err != nil {
			return err
		}
		s.telling.Lock()
		defer s.telling.Unlock()
		s.mu.Lock()
		delete(s.documents, p.Document.URI)
		s.mu.Unlock()
		return conn.Notify(ctx, "textDocument/publishDiagnostics", diagnosticsParams{URI: p.Document.URI, Diagnostics: []diagnostic{}})
	case "$/cancelRequest":
		var p struct {
			ID jsonrpc2.ID `json:"id"`
		}
		if err := json.Unmarshal(params, &p); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if cancel := s.pending[p.ID.String()]; cancel != nil {
			cancel()
		}
	case "exit":
		close(s.exit)
	}
	return nil
}

func (s *server) newest(uri string) *document {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.documents[uri]
}

// fileOf is the path of a file by its address, as findings show it.
func fileOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Path == "" {
		return uri
	}
	return path.Base(strings.TrimSuffix(u.Path, "/"))
}
