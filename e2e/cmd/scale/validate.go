package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/rules-btf/rules_btf/e2e/scale"
)

// validating is one run of "scale validate".
type validating struct {
	kernel, model, workspace, bazel string

	dir    string
	builds int
}

func validateCommand(flags *pflag.FlagSet) func() error {
	v := &validating{}
	flags.StringVar(&v.kernel, "kernel", "", "the built kernel: what e2e/linux/kernel.sh prints")
	flags.StringVar(&v.model, "model", "e2e/scale/model.json", "the model that measure has written")
	flags.StringVar(&v.workspace, "workspace", "e2e/linux", "the workspace that builds its BTF")
	flags.StringVar(&v.bazel, "bazel", "../../bazelw", "Bazel, from there")
	return v.run
}

// real is what a build of Bazel took.
type real struct {
	wall    float64 // seconds of the execution phase
	actions map[string]int
	cpu     map[string]float64 // seconds, user and system, by mnemonic
}

func (v *validating) run() error {
	var err error
	if v.dir, err = os.MkdirTemp("", "validate"); err != nil {
		return err
	}
	defer os.RemoveAll(v.dir)
	data, err := os.ReadFile(v.model)
	if err != nil {
		return err
	}
	model, err := scale.ParseModel(data)
	if err != nil {
		return fmt.Errorf("%s: %w", v.model, err)
	}
	kernel, err := readKernel(v.kernel)
	if err != nil {
		return err
	}
	b := scale.NewBuild(model, kernel, scale.Grain{Objects: defaultGrain, Modules: defaultGrain})
	const vmlinux, modules = "//:vmlinux_btf", "//:modules_with_btf"
	if _, err := v.build("--jobs=2", vmlinux, modules); err != nil { // the tools, and the page cache
		return err
	}
	part, err := v.build("--jobs=1", vmlinux)
	if err != nil {
		return err
	}
	// What an action costs besides its processor time is taken from vmlinux's alone. All else is
	// predicted.
	wanted := map[*scale.Action]bool{}
	mark(b.Vmlinux.By, wanted)
	ofVmlinux := func(a *scale.Action) bool { return wanted[a] }
	alone := b.Simulate(scale.Executors{Count: 1}, ofVmlinux)
	overhead := max(0, (part.wall-alone.CPU)/float64(alone.Actions))
	fmt.Printf("An action costs %.1f ms beside its processor time "+
		"(from vmlinux alone at --jobs=1).\n\n", overhead*1e3)
	fmt.Print("| build | simulated | Bazel | error |\n|---|--:|--:|--:|\n")
	all := func(*scale.Action) bool { return true }
	var last *real
	for _, jobs := range []int{1, 2} {
		if last, err = v.build("--jobs="+strconv.Itoa(jobs), vmlinux, modules); err != nil {
			return err
		}
		r := b.Simulate(scale.Executors{Count: jobs, Overhead: overhead}, all)
		fmt.Printf("| vmlinux and modules, --jobs=%d | %.1f s | %.1f s | %+.0f%% |\n", jobs, r.Wall,
			last.wall, (r.Wall/last.wall-1)*100)
	}
	v.byMnemonic(b, all, last)
	return nil
}

// byMnemonic prints the numbers of actions and their processor times.
func (v *validating) byMnemonic(b *scale.Build, runs func(*scale.Action) bool, last *real) {
	fmt.Print("\n| mnemonic | actions: graph | Bazel | CPU: model | Bazel | error |\n" +
		"|---|--:|--:|--:|--:|--:|\n")
	count, cpu := map[string]int{}, map[string]float64{}
	for _, a := range b.Actions {
		if runs(a) {
			count[a.Kind]++
			cpu[a.Kind] += a.Seconds
		}
	}
	for _, mnemonic := range []string{scale.Gen, scale.Merge, scale.Facts, scale.Link, scale.Index,
		scale.Modules} {
		fmt.Printf("| `%s` | %d | %d | %.2f s | %.2f s | %+.0f%% |\n", mnemonic, count[mnemonic],
			last.actions[mnemonic], cpu[mnemonic], last.cpu[mnemonic],
			(cpu[mnemonic]/last.cpu[mnemonic]-1)*100)
	}
}

// mark marks an action and those that it needs.
func mark(a *scale.Action, wanted map[*scale.Action]bool) {
	if a == nil || wanted[a] {
		return
	}
	wanted[a] = true
	for _, f := range a.Inputs {
		mark(f.By, wanted)
	}
}

// build runs all actions of BTF anew, whatever was built before: a word in their execution info is
// new, and part of their key.
func (v *validating) build(args ...string) (*real, error) {
	v.builds++
	events := filepath.Join(v.dir, fmt.Sprintf("%d.json", v.builds))
	word := fmt.Sprintf("--modify_execution_info=Btf.*=+scale-%d-%d", time.Now().Unix(), v.builds)
	argv := append([]string{"build", "--noshow_progress", "--build_event_json_file=" + events, word,
		"--disk_cache=", "--output_groups=+btf_embedded", fmt.Sprintf("%s=%d", grainFlag, defaultGrain),
		"--experimental_collect_resource_estimation=false"}, args...)
	cmd := exec.Command(v.bazel, argv...)
	cmd.Dir = v.workspace
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s %s: %w\n%s", v.bazel, strings.Join(argv, " "), err, out)
	}
	return readEvents(events)
}

// readEvents reads the metrics at the end of Bazel's build events.
func readEvents(path string) (*real, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewReader(f)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil, fmt.Errorf("%s: no buildMetrics with an execution phase: %w", path, err)
		}
		var event struct {
			BuildMetrics struct {
				ActionSummary struct {
					ActionData []struct {
						Mnemonic        string
						ActionsExecuted json.Number
						SystemTime      string // "1.5s"
						UserTime        string
					}
				}
				TimingMetrics struct{ ExecutionPhaseTimeInMs json.Number }
			}
		}
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		ms, err := event.BuildMetrics.TimingMetrics.ExecutionPhaseTimeInMs.Float64()
		if err != nil || ms == 0 {
			continue // another event
		}
		r := &real{wall: ms / 1e3, actions: map[string]int{}, cpu: map[string]float64{}}
		for _, d := range event.BuildMetrics.ActionSummary.ActionData {
			n, _ := d.ActionsExecuted.Int64()
			user, _ := time.ParseDuration(d.UserTime)
			system, _ := time.ParseDuration(d.SystemTime)
			r.actions[d.Mnemonic], r.cpu[d.Mnemonic] = int(n), (user + system).Seconds()
		}
		return r, nil
	}
}
