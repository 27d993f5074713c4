package live

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
)

// Secret returns a function that takes a password out of an error, in every form in
// which an error may have it. What errors.Is and errors.As find in the error is gone
// when it held one.
func Secret(password string) func(error) error {
	forms := []string{password, url.QueryEscape(password), url.PathEscape(password), strings.Trim(strconv.Quote(password), `"`)}
	return func(err error) error {
		if err == nil || password == "" {
			return err
		}
		text := err.Error()
		clean := text
		for _, s := range forms {
			clean = strings.ReplaceAll(clean, s, "…")
		}
		if clean == text {
			return err
		}
		return errors.New(clean)
	}
}
