package message

import (
	"encoding/json"
	"io"
)

// WriteJSON writes v as JSON for people and programs: keys are in the order of the fields, lines
// are indented by two spaces, and <, > and & are not escaped.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
