package main

import (
	"bufio"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// findModules returns the files that the arguments name: modules, and directories of them. order,
// if it is not "", is a file that lists what to take of directories.
func findModules(args []string, order string) ([]string, error) {
	var listed []string
	if order != "" {
		var err error
		if listed, err = readOrder(order); err != nil {
			return nil, err
		}
		if len(listed) == 0 {
			return nil, fmt.Errorf("%s: lists no module", order)
		}
	}
	var files []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		switch {
		case err != nil || !info.IsDir(): // what can't be read is an error of that module
			files = append(files, arg)
			continue
		case order != "":
			for _, name := range listed {
				files = append(files, filepath.Join(arg, name))
			}
			continue
		}
		n := len(files)
		if files, err = modulesBelow(arg, files); err != nil {
			return nil, err
		}
		if len(files) == n {
			return nil, fmt.Errorf("%s: there is no file *.ko in this directory", arg)
		}
	}
	return files, nil
}

// modulesBelow appends the modules in a directory, by path.
func modulesBelow(dir string, files []string) ([]string, error) {
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.HasSuffix(path, ".ko") ||
			strings.HasSuffix(path, ".ko.debug")) {
			files = append(files, path)
		}
		return err
	})
	return files, err
}

// readOrder returns the modules that Kbuild's modules.order lists. It names the objects of which
// the modules are made (.o); before 6.2 it named the modules (.ko).
func readOrder(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var list []string
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		stem, ok := strings.CutSuffix(line, ".o")
		if !ok {
			stem, ok = strings.CutSuffix(line, ".ko")
		}
		if !ok {
			return nil, fmt.Errorf("%s: %q is not a module: not a modules.order of Kbuild", path, line)
		}
		list = append(list, stem+".ko")
	}
	return list, lines.Err()
}

// moduleNames returns the names of modules by their paths. Each must have a name of its own.
func moduleNames(files []string) ([]string, error) {
	names := make([]string, len(files))
	seen := map[string]string{}
	for i, path := range files {
		name := strings.TrimSuffix(filepath.Base(path), ".debug")
		name = strings.TrimSuffix(name, ".ko")
		if other, ok := seen[name]; ok {
			return nil, fmt.Errorf("%s and %s: both are the module %s; convert them to directories of "+
				"their own", other, path, name)
		}
		seen[name], names[i] = path, name
	}
	return names, nil
}
