package link

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/rules-btf/rules_btf/internal/btf"
	"github.com/rules-btf/rules_btf/internal/facts"
	"github.com/rules-btf/rules_btf/internal/features"
	"github.com/rules-btf/rules_btf/internal/object"
	"github.com/rules-btf/rules_btf/internal/types"
)

// Options are what besides the units decides the result.
type Options struct {
	// Facts are those of the linked file. Without them every function candidate counts as linked
	// under its own name, and no variables are encoded but those of linked BTF.
	Facts *facts.Facts
	// Bases make the result split BTF: a chain, each parsed on the one before.
	Bases    []*btf.Blob
	Features features.Set
	Jobs     int // how many threads may work, 0: one a processor; it changes nothing but the time
	// Step, when set, is called with the name of each step as it begins.
	Step func(name string)
}

// Skipped is a function or variable of the linked file that is not encoded.
type Skipped struct{ Name, Reason string }

// Result is what Link makes.
type Result struct {
	BTF     []byte
	Skipped []Skipped // by name, then reason
	// Conflicts is how many tags have several definitions.
	Conflicts int
}

// linker holds the state of one Link. The fields are in the order in which they are filled.
type linker struct {
	opt   Options
	jobs  int
	order binary.ByteOrder
	g     *types.Graph
	nodes []types.Node
	units []object.Unit
	base  baseTypes

	isBase []bool // by unit: it is a base, which split BTF brought along; nil for none

	seen         survey
	weight       []uint64 // by node: how many selected units hold it
	linkedWeight []uint64 // by node: how many of these were linked before; nil for none
	selected     []bool
	symbols      symbolIndex

	tags      tagTable
	role      []role
	anchors   []types.ID // in order
	norm      []types.Hash
	progs     programs
	evalBuf   []types.Hash
	worlds    []world
	leaves    [][]types.ID // by unit: varying functions, variables, unnamed roots
	attached  [][]types.ID // by unit: varying declaration tags and sections
	worldOf   []int32      // by unit; -1 if nothing in it varies
	defaults  []types.ID
	slotUsers adjacency
	onlyView  *view
	settled   *phase
	open      func(world int32, s *slot) int32
	inst      instances
	types     []final // by shape that doesn't vary: the type that it is

	attachments []attachment
	made        []made
	madeElems   [][]madeElem
	arena       map[types.Hash]final // types made for arena pointers, by content
	kfuncs      map[types.Str]final  // by name: the encoded function
	group       []holder
	loose       map[types.ID]types.Hash

	localObjects map[string]uint64  // by name: how many local objects the facts have
	identified   map[localName]bool // of local objects: one of this name has a Definition
	typesHashes  map[int]types.Hash // by unit: those that were asked for
	// by type that a unit holds: the FUNC or VAR that is encoded for it + 1; nil if nobody asks
	encoded []final
	skipped []Skipped

	keep   []bool
	places places
	puts   []final  // the types that are written, in order
	chunks []uint64 // by chunk of these: where it begins in the type section
	strs   []types.Str
	hashes []types.Hash
	ids    []uint32
	offset []uint32 // by string

	sorting    sync.WaitGroup
	early      []types.Str // strings that were sorted while the types were chosen
	blob       *btf.Blob   // the result's place in the chain of bases
	stringsLen int         // of the result's own strings
}

// Link makes the final BTF of the objects' units. The objects stay as they are, except that their
// graphs may gain shapes.
func Link(inputs []*object.Object, opt Options) (*Result, error) {
	_, res, err := run(inputs, opt)
	return res, err
}

func run(inputs []*object.Object, opt Options) (*linker, *Result, error) {
	if len(inputs) == 0 {
		return nil, nil, errors.New("link: there is no input")
	}
	if err := checkFacts(opt.Facts, opt.Features); err != nil {
		return nil, nil, err
	}
	o := inputs[0]
	if len(inputs) > 1 {
		var err error
		if o, err = object.Merge(inputs...); err != nil {
			return nil, nil, err
		}
	}
	l := &linker{opt: opt, jobs: opt.Jobs, order: o.Target.Order, g: o.Graph, units: o.Units}
	if l.jobs == 0 {
		l.jobs = runtime.GOMAXPROCS(0)
	}
	if l.order == nil {
		l.order = binary.LittleEndian
	}
	if err := l.addBases(o.Target, opt.Bases); err != nil {
		return nil, nil, &BaseError{err}
	}
	res, err := l.link()
	return l, res, err
}

func (l *linker) link() (*Result, error) {
	l.nodes = l.g.Nodes
	l.step("select units")
	first := []func(){l.survey, l.indexSymbols, l.countHolders}
	parallel(l.jobs, len(first), func(i int) { first[i]() })
	l.selectUnits()
	if len(l.units) > 0 && !slices.Contains(l.selected, true) {
		return nil, fmt.Errorf("none of the %d compilation units is in the linked file, as its symbols tell; "+
			"the facts are of another file, or its symbol table is stripped or damaged", len(l.units))
	}
	l.sortEarly()
	defer l.sorting.Wait()
	l.step("resolve conflicts")
	l.findConflicts()
	l.findRoles()
	if l.conflicts() > 0 {
		l.findWorlds()
	}
	if err := l.instantiate(); err != nil {
		return nil, err
	}
	l.findTypes()
	l.indexBase()
	l.step("choose functions and variables")
	l.encodeFunctions()
	l.tagKfuncs()
	if err := l.encodeVariables(); err != nil {
		return nil, err
	}
	l.attachTags()
	l.step("order types")
	l.keepAll()
	l.arrange()
	l.step("write types")
	data, err := l.emit()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(l.skipped, func(a, b Skipped) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Reason, b.Reason)
	})
	return &Result{BTF: data, Skipped: slices.Compact(l.skipped), Conflicts: l.conflicts()}, nil
}

func (l *linker) step(name string) {
	if l.opt.Step != nil {
		l.opt.Step(name)
	}
}
