package main

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/rules-btf/rules_btf/internal/repro/execlog"
)

// model is what one build says.
type model struct {
	Steps  []step  `json:"steps"`
	Result []sized `json:"result"` // the BTF, largest first
}

// step is all actions of a kind, for vmlinux or for the modules.
type step struct {
	Mnemonic     string `json:"mnemonic"`
	Modules      bool   `json:"modules"`
	Actions      int    `json:"actions"`
	Milliseconds int64  `json:"milliseconds"` // of all actions, with what Bazel does for them
	Longest      int64  `json:"longest"`
	In           int64  `json:"in"`  // bytes, without tools
	Out          int64  `json:"out"` // bytes
}

// sized is a file.
type sized struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
}

type kind struct {
	mnemonic string
	modules  bool
}

// forModules tells by an action's output whether it is a module's: vmlinux's have its name.
func forModules(output string) bool { return !strings.Contains(output, "vmlinux") }

// measure reads the log and the profile of a build.
func measure(logFile, profile string) (*model, error) {
	l, err := execlog.ReadFile(logFile)
	if err != nil {
		return nil, err
	}
	steps := map[kind]*step{}
	kinds := map[string]kind{} // by first output
	var m model
	walker := execlog.NewWalker(l)
	for _, s := range l.Spawns {
		if !strings.HasPrefix(s.Mnemonic, "Btf") || len(s.Outputs) == 0 {
			continue
		}
		first := s.Outputs[0].Path
		k := kind{s.Mnemonic, forModules(first)}
		if steps[k] == nil {
			steps[k] = &step{Mnemonic: k.mnemonic, Modules: k.modules}
		}
		kinds[first] = k
		steps[k].Actions++
		tools := map[string]bool{}
		for id := range walker.All(s.Tools) {
			tools[l.Artifact(id).Path] = true
		}
		for id := range walker.All(s.Inputs) {
			if a := l.Artifact(id); !tools[a.Path] {
				steps[k].In += a.Digest.Size
			}
		}
		for _, o := range s.Outputs {
			size := l.Artifact(o.Artifact).Digest.Size
			steps[k].Out += size
			if name, ok := strings.CutSuffix(path.Base(o.Path), "_btf.btf"); ok {
				m.Result = append(m.Result, sized{name, size})
			}
		}
	}
	if err := addTimes(profile, kinds, steps); err != nil {
		return nil, err
	}
	for _, s := range steps {
		m.Steps = append(m.Steps, *s)
	}
	slices.SortFunc(m.Steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.Mnemonic, b.Mnemonic), -cmp.Compare(a.In, b.In))
	})
	slices.SortFunc(m.Result, func(a, b sized) int {
		return cmp.Or(-cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Name, b.Name))
	})
	return &m, nil
}

// addTimes reads from Bazel's profile how long actions took. It names an action by its progress
// message, which has the output or the label.
func addTimes(profile string, kinds map[string]kind, steps map[kind]*step) error {
	f, err := os.Open(profile)
	if err != nil {
		return err
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", profile, err)
	}
	var trace struct {
		TraceEvents []struct {
			Category  string         `json:"cat"`
			Name      string         `json:"name"`
			Duration  int64          `json:"dur"` // microseconds
			Arguments map[string]any `json:"args"`
		} `json:"traceEvents"`
	}
	if err := json.NewDecoder(unpacked).Decode(&trace); err != nil {
		return fmt.Errorf("%s: %w", profile, err)
	}
	micros := map[kind]int64{}
	for _, e := range trace.TraceEvents {
		mnemonic, _ := e.Arguments["mnemonic"].(string)
		if e.Category != "action processing" || !strings.HasPrefix(mnemonic, "Btf") {
			continue
		}
		k := kind{mnemonic, forModules(e.Name)}
		if steps[k] == nil {
			return fmt.Errorf("%s: %s is in no group of the log, which has %v", profile, e.Name,
				slices.Sorted(maps.Keys(kinds)))
		}
		micros[k] += e.Duration
		steps[k].Longest = max(steps[k].Longest, e.Duration/1000)
	}
	for k, s := range steps {
		s.Milliseconds = micros[k] / 1000
	}
	return nil
}
