package modules

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/rules-btf/rules_btf/e2e/internal/content"
)

// totals adds up the results of the modules.
type totals struct {
	mu                                            sync.Mutex
	modules, types, base, own, indirect, declared int
	names                                         map[content.Class][2]int // in our and pahole's BTF
	reasons                                       map[reason][]string      // lists of "module: name"
}

type reason struct{ class, kind, why string }

func (s *totals) add(module string, r *flattened) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names == nil {
		s.names, s.reasons = map[content.Class][2]int{}, map[reason][]string{}
	}
	s.modules++
	s.types += r.types
	s.base += r.inBase
	s.own += r.inOwn
	s.indirect += r.indirect
	s.declared += len(r.declared)
	for _, class := range content.Classes {
		n := s.names[class]
		s.names[class] = [2]int{n[0] + r.Ours[class], n[1] + r.Oracle[class]}
	}
	for _, d := range r.Differences {
		why, _, _ := strings.Cut(d.Reason, ":")
		k := reason{string(d.Class), string(d.Kind), cmp.Or(why, "UNEXPLAINED")}
		s.reasons[k] = append(s.reasons[k], module+": "+d.Name)
	}
}

func (s *totals) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d modules: of %d types in pahole's BTF, %d are in the base, %d in our split "+
		"BTF\n", s.modules, s.types, s.base, s.own)
	fmt.Fprintf(&b, "tags that the base only declares: %d; types that only lead to a difference: %d\n",
		s.declared, s.indirect)
	fmt.Fprintln(&b, "\n| class | names in ours | in pahole's |\n|---|--:|--:|")
	for _, class := range content.Classes {
		fmt.Fprintf(&b, "| %s | %d | %d |\n", class, s.names[class][0], s.names[class][1])
	}
	fmt.Fprintln(&b, "\n| differences | | reason | | for example |\n|---|---|---|--:|---|")
	for _, k := range slices.SortedFunc(maps.Keys(s.reasons), func(x, y reason) int {
		return cmp.Or(cmp.Compare(len(s.reasons[y]), len(s.reasons[x])), cmp.Compare(x.class, y.class),
			cmp.Compare(x.kind, y.kind), cmp.Compare(x.why, y.why))
	}) {
		names := s.reasons[k]
		slices.Sort(names)
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s |\n", k.class, k.kind, k.why, len(names),
			strings.Join(names[:min(2, len(names))], ", "))
	}
	return b.String()
}
