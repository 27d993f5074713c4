package serve

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/internal/model"
	"github.com/fsmgen/fsmgen/internal/validate"
	"github.com/fsmgen/fsmgen/spec"
)

// searching is a page whose searches begin, and end when they are told to: each
// sends its context when it begins, and its error when it ends.
func searching(t *testing.T) (url string, begun chan context.Context, ended chan error) {
	t.Helper()
	s, err := New(Options{Files: []string{"../../specs/lifecycle.yaml"}, Check: validate.Source})
	if err != nil {
		t.Fatal(err)
	}
	begun, ended = make(chan context.Context, 9), make(chan error, 9)
	s.search = func(ctx context.Context, _ *spec.Machine, _ model.Options, _ func(int, int)) (model.Result, error) {
		begun <- ctx
		<-ctx.Done()
		ended <- ctx.Err()
		return model.Result{}, ctx.Err()
	}
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = s.Handler(Hosts{Names: []string{server.Listener.Addr().String()}})
	server.Start()
	t.Cleanup(server.Close)
	return server.URL + "/api/machine/0/check", begun, ended
}

// search asks for one, and sends what the answer is.
func search(ctx context.Context, url string) <-chan string {
	answer := make(chan string, 1)
	go func() {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("{}"))
		if err != nil {
			answer <- err.Error()
			return
		}
		r.Header.Set("Content-Type", "application/json")
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			answer <- err.Error()
			return
		}
		defer w.Body.Close()
		text, _ := io.ReadAll(w.Body)
		answer <- w.Status + " " + string(text)
	}()
	return answer
}

// A page that goes away, or is loaded again, takes its search with it.
func TestSearchEndsWithThePage(t *testing.T) {
	t.Parallel()
	url, begun, ended := searching(t)
	ctx, leave := context.WithCancel(t.Context())
	answer := search(ctx, url)
	<-begun
	leave()
	if err := <-ended; err == nil {
		t.Error("the search goes on")
	}
	if text := <-answer; !strings.Contains(text, context.Canceled.Error()) {
		t.Errorf("who went away got %q", text)
	}
}

// Another search ends the one before it, also when several come while one ends.
func TestSearchTakesOver(t *testing.T) {
	t.Parallel()
	url, begun, ended := searching(t)
	var answers []<-chan string
	ctx, leave := context.WithCancel(t.Context())
	for range 3 {
		answers = append(answers, search(ctx, url))
		if now := <-begun; now.Err() != nil {
			t.Error("a search begins that is over")
		}
		if n := len(answers); n > 1 {
			<-ended
			if text := <-answers[n-2]; !strings.HasPrefix(text, "409 ") || !strings.Contains(text, "another search replaced this one") {
				t.Errorf("search %d: %q", n-1, text)
			}
		}
	}
	leave()
	<-ended
	<-answers[2]
	if len(begun)+len(ended) > 0 {
		t.Error("a search too many")
	}
}

// Who goes away while the search before is still ending begins none.
func TestSearchThatNobodyWantsAnyMore(t *testing.T) {
	t.Parallel()
	var l latest
	first, end, err := l.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() {
		_, _, err := l.begin(gone)
		second <- err
	}()
	<-first.Done() // the second one is there, and waits
	leave()
	select {
	case err := <-second:
		t.Errorf("the second did not wait for the first: %v", err)
	default:
	}
	end()
	if err := <-second; err == nil {
		t.Error("the second begins although nobody waits for it")
	}
	third, end, err := l.begin(t.Context())
	if err != nil || third.Err() != nil {
		t.Fatalf("the third: %v", err)
	}
	end()
}
