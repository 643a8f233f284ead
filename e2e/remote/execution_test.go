package remote

import "testing"

// TestExecution runs all actions of rules_btf on an executor on which they see only their inputs,
// with each value of --remote_download_outputs.
func TestExecution(t *testing.T) {
	m, want := quick(t)
	control := false
	for _, download := range []string{"minimal", "toplevel", "all"} {
		t.Run(download, func(t *testing.T) {
			if download == "all" {
				needAll(t)
			}
			m.t = t
			s := casd(t)
			options := append(s.execute(t), "--remote_download_outputs="+download)
			if !control {
				control = true
				refuses(t, m, s)
			}
			ran := btfSum(show(t, "remotely, "+download, m.must(options...)))
			if ran.local != 0 || ran.remote == 0 || ran.hit != 0 {
				t.Errorf("%d actions ran locally, %d remotely, %d were hits; want all remotely", ran.local,
					ran.remote, ran.hit)
			}
			again := m.must(options...)
			allHits(t, download, show(t, "again, "+download, again))
			if download == "minimal" {
				// Nothing was downloaded. The next build downloads the outputs of the targets.
				for name, digest := range m.digests() {
					if digest != "missing" {
						t.Errorf("%s was downloaded with --remote_download_outputs=minimal", name)
					}
				}
				m.ok(m.rebuild(append(s.execute(t), "--remote_download_outputs=toplevel")...))
			}
			m.same(want)
		})
	}
}

// execute returns the options in presets/remote-execution.bazelrc, and the option that makes our
// actions run on the server.
func (s *server) execute(t testing.TB) []string {
	t.Helper()
	return append(preset(t, "remote-execution.bazelrc"), "--remote_executor=grpc://"+s.listens)
}

// refuses is a control. It checks that an action that reads a file besides its inputs fails on the
// executor.
func refuses(t *testing.T, m *machine, s *server) {
	t.Helper()
	m.write("control/BUILD.bazel", `genrule(
    name = "control",
    outs = ["passwd"],
    cmd = "cat /etc/passwd > $@",
)
`)
	targets := m.targets
	defer func() { m.targets = targets }()
	m.targets = []string{"//control"}
	m.ok(m.build())
	o := m.build("--remote_executor=grpc://"+s.listens, "--strategy=Genrule=remote")
	if o.exit == 0 {
		t.Error("control: a shell that reads /etc/passwd ran on the executor")
	}
}
