package main

import (
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
)

// program is a tool that was built for a platform.
type program struct {
	name, platform string
	path           string // of the file
	info           *debug.BuildInfo
}

// build builds the tools for a platform, of the module that publish wrote to scratch/proxy. flags
// are the Go command's.
func (s *source) build(scratch, platform string, flags ...string) ([]program, error) {
	goos, goarch, _ := strings.Cut(platform, "-")
	gopath := filepath.Join(scratch, "gopath"+strings.Join(flags, ""))
	args := append([]string{"install", "-trimpath"}, flags...)
	for _, tool := range s.tools {
		args = append(args, s.module.Path+"/tools/"+tool+"@"+s.module.Version)
	}
	command, env, err := goCommand(scratch)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(command, args...)
	cmd.Dir = scratch
	cmd.Env = append(env, "GOOS="+goos, "GOARCH="+goarch, "GOPATH="+gopath)
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go install: %w\n%s", err, bytes.TrimSpace(out))
	}
	bin := filepath.Join(gopath, "bin")
	if goos != runtime.GOOS || goarch != runtime.GOARCH {
		bin = filepath.Join(bin, goos+"_"+goarch)
	}
	var programs []program
	for _, tool := range s.tools {
		p := program{name: tool, platform: platform, path: filepath.Join(bin, tool)}
		if p.info, err = buildinfo.ReadFile(p.path); err != nil {
			return nil, err
		}
		if err := s.check(&p); err != nil {
			return nil, err
		}
		programs = append(programs, p)
	}
	return programs, nil
}

// check wants a program to be of this module and of the modules that go.sum has: those were taken
// from caches and proxies without asking a checksum database.
func (s *source) check(p *program) error {
	if p.info.Main.Path != s.module.Path || p.info.Main.Version != s.module.Version {
		return fmt.Errorf("%s is of the module %s %s", p.name, p.info.Main.Path, p.info.Main.Version)
	}
	for _, d := range p.info.Deps {
		if d.Replace != nil || !s.sums[d.Path+" "+d.Version+" "+d.Sum] {
			return fmt.Errorf("%s: go.sum has no line %s %s %s", p.name, d.Path, d.Version, d.Sum)
		}
	}
	return nil
}

// goCommand returns the Go command and its environment: of the user's settings only where Go and
// modules come from and where compiled packages are kept, none of which shows in a program.
func goCommand(scratch string) (string, []string, error) {
	values := map[string]string{}
	for _, name := range []string{"GOROOT", "GOPROXY", "GOMODCACHE", "GOCACHE"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return "", nil, fmt.Errorf("go env %s: %w", name, err)
		}
		values[name] = string(bytes.TrimSpace(value))
	}
	if values["GOROOT"] == "" || values["GOCACHE"] == "off" {
		return "", nil, errors.New("go env: GOROOT is empty or GOCACHE is off")
	}
	proxies := "file://" + filepath.Join(scratch, "proxy") + ",file://" +
		filepath.Join(values["GOMODCACHE"], "cache", "download") + "," + values["GOPROXY"]
	return filepath.Join(values["GOROOT"], "bin", "go"), []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + scratch, "GOENV=off", "GOWORK=off",
		"GOTOOLCHAIN=local", "GOCACHE=" + values["GOCACHE"], "GOPROXY=" + proxies, "GOSUMDB=off",
		"GOFLAGS=-modcacherw", "GOAMD64=v1", "GOARM64=v8.0", "CGO_ENABLED=0",
	}, nil
}
