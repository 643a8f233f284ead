package message

import "errors"

// ErrLimit marks the error for data that is larger than the limit for decompressed data. A program
// with a flag that raises the limit adds that flag to the message.
var ErrLimit = errors.New("larger than the limit for decompressed data")

// Marked returns an error with the text of err, for which errors.Is finds err and mark.
func Marked(err, mark error) error { return marked{err, mark} }

type marked struct {
	error
	mark error
}

func (m marked) Unwrap() []error { return []error{m.error, m.mark} }
