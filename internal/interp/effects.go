package interp

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/spec"
)

// EffectKey returns the text of an effect's idempotency key, from the record after
// the step: its parts with a slash between. A key of one text is that text as it is;
// in any other key texts are JSON strings, so that no two keys read the same. An
// absent part is a hyphen.
func EffectKey(m *spec.Machine, e *spec.Effect, r Record) string {
	if len(e.Key) == 0 {
		return fmt.Sprintf("%s/%s/%d/%s", m.Name, r.ID, r.Rev, e.Name)
	}
	parts := make([]string, len(e.Key))
	for i, k := range e.Key {
		v := r.Value(m, k.Field)
		switch {
		case v.Kind == KindAbsent:
			parts[i] = "-"
		case v.Kind == KindWord: // the stored one
			parts[i] = keyText(storedWord(k.Field, v.Text), len(e.Key) == 1)
		case v.Kind == KindString:
			parts[i] = keyText(v.Text, len(e.Key) == 1)
		case v.Kind == KindTime:
			parts[i] = v.AsTime().UTC().Format(time.RFC3339Nano)
		case v.Kind == KindBool:
			parts[i] = strconv.FormatBool(v.Num != 0)
		default:
			parts[i] = strconv.FormatInt(v.Num, 10)
		}
	}
	return strings.Join(parts, "/")
}

func keyText(text string, alone bool) string {
	if alone {
		return text
	}
	b := []byte{'"'}
	for _, c := range []byte(text) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

// storedWord returns the word that rows hold for a value of an enum.
func storedWord(f *spec.Field, name string) string {
	for _, w := range f.Type.Values {
		if w.Name == name {
			return w.Stored()
		}
	}
	return name
}

// Effects returns the record with effects on it, for an accepted call: nothing
// is decided, and no rule is looked at. The groups that a creation belongs to
// are those of the record with the values being set.
func Effects(m *spec.Machine, e *spec.Effects, r Record, c Call) Record {
	after, _ := apply(m, e, r, r, c)
	return after
}
