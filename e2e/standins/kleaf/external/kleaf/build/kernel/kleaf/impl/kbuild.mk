# What Kbuild does after the links: adds BTF to copies of the files in TREE, with the commands that
# Linux 6.12 runs. The results are vmlinux and MODULES.

PAHOLE = pahole
OBJCOPY = llvm-objcopy
PAHOLE_FLAGS = -j --btf_features=encode_force,var,float,enum64,decl_tag,type_tag,optimized_func,consistent_func,decl_tag_kfuncs --lang_exclude=rust

all: $(MODULES)

vmlinux: $(TREE)/.tmp_vmlinux1
	cp -L $< .tmp_vmlinux1
	chmod u+w .tmp_vmlinux1
	LLVM_OBJCOPY=$(OBJCOPY) $(PAHOLE) -J $(PAHOLE_FLAGS) .tmp_vmlinux1
	mv .tmp_vmlinux1 $@

$(MODULES): %.ko: $(TREE)/%.ko vmlinux
	mkdir -p $(@D)
	$(OBJCOPY) --remove-section=.BTF --remove-section=.BTF.base $< $@
	LLVM_OBJCOPY=$(OBJCOPY) $(PAHOLE) -J $(PAHOLE_FLAGS) --btf_base vmlinux $@
