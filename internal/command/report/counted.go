package report

import (
	"io"
	"io/fs"
	"path/filepath"

	"github.com/rules-btf/rules_btf/internal/command/cli"
)

// WriteOutputs writes outputs of a batch before the batch ends: either all of these files or none.
// It counts their bytes. Several threads may call it.
func (r *Run) WriteOutputs(outputs ...cli.Artifact) error {
	var size int64
	if err := r.env.WriteOutputs(counted(outputs, &size)...); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.written += size
	return nil
}

// counted returns outputs that add their sizes to total when they are written.
func counted(outputs []cli.Artifact, total *int64) []cli.Artifact {
	list := make([]cli.Artifact, len(outputs))
	for i, o := range outputs {
		list[i] = o
		if o.Dir != nil {
			list[i].Dir = func(dir string) error {
				if err := o.Dir(dir); err != nil {
					return err
				}
				return addSizes(dir, total)
			}
			continue
		}
		list[i].File = func(w io.Writer) error { return o.File(&counter{w, total}) }
	}
	return list
}

// counter is a writer that adds the number of bytes to total.
type counter struct {
	to    io.Writer
	total *int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.to.Write(b)
	*c.total += int64(n)
	return n, err
}

// addSizes adds the sizes of all files below a directory to total.
func addSizes(dir string, total *int64) error {
	return filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			*total += info.Size()
		}
		return err
	})
}
