// Command sbom writes a software bill of materials of programs in the CycloneDX format. The bill
// lists the Go modules from which the programs were built, as the Go command recorded them ("go
// version -m"). The bill has neither a timestamp nor a serial number.
//
//	sbom PLATFORM…
//
// The programs are the files in directories that are named after their platforms, such as
// linux-amd64.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"errors"
	"fmt"
	"log"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("sbom: ")
	b := bill{libraries: map[string]cyclonedx.Component{}}
	for _, platform := range os.Args[1:] {
		programs, err := filepath.Glob(platform + "/*") // sorted
		for _, program := range programs {
			err = errors.Join(err, b.add(platform, program))
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	if len(b.programs) == 0 {
		log.Fatal("no programs: usage: sbom PLATFORM…")
	}
	// Most readers support this version.
	err := cyclonedx.NewBOMEncoder(os.Stdout, cyclonedx.BOMFileFormatJSON).SetPretty(true).
		EncodeVersion(b.bom(), cyclonedx.SpecVersion1_6)
	if err != nil {
		log.Fatal(err)
	}
}

var licenses = &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}}

type bill struct {
	release      cyclonedx.Component // the module of all programs
	programs     []cyclonedx.Component
	libraries    map[string]cyclonedx.Component // by reference
	dependencies []cyclonedx.Dependency         // of each program
}

// add adds a program, and the modules from which it was built, except our own.
func (b *bill) add(platform, file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return err
	}
	b.release = goModule(info.Main.Path, info.Main.Version, "")
	b.release.Type, b.release.Licenses = cyclonedx.ComponentTypeApplication, licenses
	c := cyclonedx.Component{BOMRef: file, Type: cyclonedx.ComponentTypeApplication,
		Name: filepath.Base(file), Version: strings.TrimPrefix(info.Main.Version, "v"),
		Licenses: licenses, Hashes: sha(fmt.Sprintf("%x", sha256.Sum256(data))),
		Properties: &[]cyclonedx.Property{{Name: "platform", Value: platform}}}
	b.programs = append(b.programs, c)

	libraries := []cyclonedx.Component{goModule("std", strings.TrimPrefix(info.GoVersion, "go"), "")}
	for _, d := range info.Deps {
		libraries = append(libraries, goModule(d.Path, d.Version, d.Sum))
	}
	var refs []string
	for _, library := range libraries {
		b.libraries[library.BOMRef] = library
		refs = append(refs, library.BOMRef)
	}
	slices.Sort(refs)
	b.dependencies = append(b.dependencies, cyclonedx.Dependency{Ref: file, Dependencies: &refs})
	return nil
}

func (b *bill) bom() *cyclonedx.BOM {
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &b.release}
	components := b.programs
	var names []string
	for _, c := range b.programs {
		names = append(names, c.BOMRef)
	}
	for _, ref := range slices.Sorted(maps.Keys(b.libraries)) {
		components = append(components, b.libraries[ref])
	}
	dependencies := append([]cyclonedx.Dependency{{Ref: b.release.BOMRef, Dependencies: &names}},
		b.dependencies...)
	bom.Components, bom.Dependencies = &components, &dependencies
	return bom
}

// goModule describes a module. The parameter sum is the hash of the module's files, as in go.sum.
func goModule(modulePath, version, sum string) cyclonedx.Component {
	purl := fmt.Sprintf("pkg:golang/%s@%s", strings.ToLower(modulePath), version)
	c := cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: modulePath,
		Version: version, PackageURL: purl}
	if group := path.Dir(modulePath); group != "." {
		c.Group, c.Name = group, path.Base(modulePath)
	}
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil &&
		len(raw) == sha256.Size {
		c.Hashes = sha(fmt.Sprintf("%x", raw))
	}
	return c
}

func sha(digits string) *[]cyclonedx.Hash {
	return &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: digits}}
}
