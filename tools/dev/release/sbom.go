package main

import (
	"encoding/base64"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes which modules the programs consist of, as the Go command has recorded it in
// them ("go version -m"), in the form of CycloneDX. It has no time and no serial number.
func (s *source) writeSBOM(name string, programs []program) error {
	bom := cyclonedx.NewBOM()
	release := goModule(s.module.Path, s.module.Version, "")
	release.Type = cyclonedx.ComponentTypeApplication
	release.Licenses = &cyclonedx.Licenses{{License: &cyclonedx.License{ID: "Apache-2.0"}}}
	bom.Metadata = &cyclonedx.Metadata{Component: &release}

	libraries := map[string]cyclonedx.Component{}
	var components []cyclonedx.Component
	var names []string
	dependencies := []cyclonedx.Dependency{{Ref: release.BOMRef, Dependencies: &names}}
	for i := range programs {
		c, of, err := programComponent(&programs[i], s.version(), release.Licenses)
		if err != nil {
			return err
		}
		var refs []string
		for _, library := range of {
			libraries[library.BOMRef] = library
			refs = append(refs, library.BOMRef)
		}
		slices.Sort(refs)
		names = append(names, c.BOMRef)
		components = append(components, c)
		dependencies = append(dependencies, cyclonedx.Dependency{Ref: c.BOMRef, Dependencies: &refs})
	}
	for _, ref := range slices.Sorted(maps.Keys(libraries)) {
		components = append(components, libraries[ref])
	}
	bom.Components, bom.Dependencies = &components, &dependencies

	file, err := os.Create(name)
	if err != nil {
		return err
	}
	encoder := cyclonedx.NewBOMEncoder(file, cyclonedx.BOMFileFormatJSON).SetPretty(true)
	// The version that most readers know.
	if err := encoder.EncodeVersion(bom, cyclonedx.SpecVersion1_6); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// programComponent describes a program, and the modules that it consists of besides ours.
func programComponent(p *program, version string, licenses *cyclonedx.Licenses) (
	c cyclonedx.Component, of []cyclonedx.Component, err error) {
	sum, err := sha256File(p.path)
	if err != nil {
		return c, nil, err
	}
	c = cyclonedx.Component{
		BOMRef: p.platform + "/" + p.name, Type: cyclonedx.ComponentTypeApplication, Name: p.name,
		Version: version, Licenses: licenses,
		Hashes:     &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: sum}},
		Properties: &[]cyclonedx.Property{{Name: "platform", Value: p.platform}},
	}
	of = append(of, goModule("std", strings.TrimPrefix(p.info.GoVersion, "go"), ""))
	for _, d := range p.info.Deps {
		of = append(of, goModule(d.Path, d.Version, d.Sum))
	}
	return c, of, nil
}

// goModule describes a module. sum is as in go.sum, a SHA-256 of the checksums of its files.
func goModule(modulePath, version, sum string) cyclonedx.Component {
	purl := fmt.Sprintf("pkg:golang/%s@%s", strings.ToLower(modulePath), version)
	c := cyclonedx.Component{BOMRef: purl, Type: cyclonedx.ComponentTypeLibrary, Name: modulePath,
		Version: version, PackageURL: purl}
	if group := path.Dir(modulePath); group != "." {
		c.Group, c.Name = group, path.Base(modulePath)
	}
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil &&
		len(raw) == 32 {
		value := fmt.Sprintf("%x", raw)
		c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: value}}
	}
	return c
}
