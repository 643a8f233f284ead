package elf

const (
	archiveMagic = "!<arch>\n"
	thinMagic    = "!<thin>\n"
)
