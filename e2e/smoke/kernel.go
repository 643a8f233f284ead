// The program kernel prints the release of the running kernel. It shows that rules_btf doesn't
// affect a workspace's Go: this workspace has an older SDK and older Go modules than rules_btf.
package main

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

func main() {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(unix.ByteSliceToString(name.Release[:]))
}
