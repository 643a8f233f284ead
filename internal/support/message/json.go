package message

import (
	"encoding/json"
	"io"
)

// WriteJSON writes v as JSON for people and programs: its keys in the order of the fields, lines
// indented by two spaces, and <, > and & as they are.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
