package message

// Marked returns an error with the text of err, for which errors.Is finds err and mark.
func Marked(err, mark error) error { return marked{err, mark} }

type marked struct {
	error
	mark error
}

func (m marked) Unwrap() []error { return []error{m.error, m.mark} }
