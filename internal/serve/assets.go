package serve

import (
	"embed"
	"mime"
	"net/http"
	"path"

	"github.com/fsmgen/fsmgen/gen/chart/draw"
)

//go:embed static
var static embed.FS

// asset is a file of the page.
type asset struct {
	path string
	kind string
	text []byte
}

func (a asset) serve(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", a.kind)
	_, _ = w.Write(a.text) // a browser that went away is no error of ours
}

// assets are all of them: no request reads a path.
var assets = func() []asset {
	entries, err := static.ReadDir("static")
	if err != nil {
		panic(err) // the folder is not embedded
	}
	all := []asset{{"/picture.css", "text/css; charset=utf-8", draw.Stylesheet()}}
	for _, e := range entries {
		text, err := static.ReadFile("static/" + e.Name())
		if err != nil {
			panic(err)
		}
		a := asset{"/" + e.Name(), kinds[path.Ext(e.Name())], text}
		if a.kind == "" {
			a.kind = mime.TypeByExtension(path.Ext(e.Name()))
		}
		if e.Name() == "index.html" {
			a.path = "/{$}"
		}
		all = append(all, a)
	}
	return all
}()

var kinds = map[string]string{
	".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
	".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
}
