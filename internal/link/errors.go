package link

import (
	"errors"
	"fmt"
	"strings"
)

// BaseError is a fault in the bases.
type BaseError struct{ Err error }

func (e *BaseError) Error() string { return e.Err.Error() }
func (e *BaseError) Unwrap() error { return e.Err }

// NameError adds to an error of Link which files it is about: the bases, or else input.
func NameError(err error, input string, bases []string) error {
	var base *BaseError
	if errors.As(err, &base) {
		input = strings.Join(bases, ", ")
	}
	return fmt.Errorf("%s: %w", input, err)
}
