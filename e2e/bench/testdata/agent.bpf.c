// Twenty programs that read the kernel data that security and networking agents usually read.
// e2e/bench/run measures btfcore with these programs. Each type is declared with only the members
// that the programs read.
#define SEC(name) __attribute__((section(name), used))
#define PROGRAM(name) SEC("raw_tp/" #name) int name(void **ctx)
#define READ(field) (out ^= (unsigned long)(field))
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

volatile unsigned long out;
char _license[] SEC("license") = "GPL";

struct list_head { struct list_head *next; };
struct hlist_node { struct hlist_node *next; };
struct qstr { unsigned len; const unsigned char *name; };
struct super_block { unsigned s_dev; unsigned long s_magic; };
struct inode { unsigned short i_mode; unsigned long i_ino; long long i_size;
	struct super_block *i_sb; };
struct dentry { struct dentry *d_parent; struct qstr d_name; struct inode *d_inode; };
struct vfsmount { struct dentry *mnt_root; };
struct mount { struct mount *mnt_parent; struct dentry *mnt_mountpoint; struct vfsmount mnt; };
struct path { struct vfsmount *mnt; struct dentry *dentry; };
struct file { struct path f_path; unsigned f_flags; struct inode *f_inode; long long f_pos; };
struct fdtable { unsigned max_fds; struct file **fd; };
struct files_struct { struct fdtable *fdt; };
struct fs_struct { struct path root, pwd; };
struct mm_struct { unsigned long arg_start, arg_end, env_start; struct file *exe_file;
	int map_count; };
struct vm_area_struct { unsigned long vm_start, vm_end, vm_flags; struct file *vm_file; };
typedef struct { unsigned val; } kuid_t;
struct user_namespace { int level; kuid_t owner; };
struct cred { kuid_t uid, euid; struct user_namespace *user_ns; };
struct ns_common { unsigned inum; };
struct pid_namespace { unsigned level; struct ns_common ns; };
struct uts_namespace { struct ns_common ns; };
struct net { struct ns_common ns; unsigned long ifindex; };
struct nsproxy { struct uts_namespace *uts_ns; struct pid_namespace *pid_ns_for_children;
	struct net *net_ns; };
struct upid { int nr; struct pid_namespace *ns; };
struct pid { unsigned level; struct upid numbers[1]; };
struct signal_struct { int nr_threads; struct pid *pids[4]; unsigned group_exit_code; };
struct kernfs_node { unsigned long long id; const char *name; struct kernfs_node *parent; };
struct cgroup { int level; struct kernfs_node *kn; };
struct css_set { struct cgroup *dfl_cgrp; };
struct task_struct { int pid, tgid, exit_code, prio; unsigned flags, __state; char comm[16];
	unsigned long long start_time, start_boottime; struct task_struct *real_parent, *group_leader;
	struct mm_struct *mm; struct fs_struct *fs; struct files_struct *files; struct nsproxy *nsproxy;
	struct signal_struct *signal; const struct cred *real_cred, *cred; struct css_set *cgroups;
	struct pid *thread_pid; };
struct task_struct___old { long state; } ;
struct linux_binprm { struct file *file; const char *filename; int argc; struct cred *cred; };
struct net_device { int ifindex; unsigned mtu; char name[16]; };
struct sk_buff { unsigned len, data_len; unsigned short protocol, network_header, transport_header;
	unsigned char *head, *data; struct net_device *dev; unsigned mark; unsigned cloned:1; };
typedef struct { struct net *net; } possible_net_t;
struct in6_addr { union { unsigned u6_addr32[4]; } in6_u; };
struct sock_common { unsigned short skc_family, skc_dport, skc_num;
	volatile unsigned char skc_state;
	unsigned skc_daddr, skc_rcv_saddr; struct in6_addr skc_v6_daddr; possible_net_t skc_net; };
struct sock { struct sock_common __sk_common; unsigned short sk_type, sk_protocol; int sk_err;
	unsigned sk_mark; };
struct inet_sock { struct sock sk; unsigned inet_saddr; unsigned short inet_sport; };
struct tcp_sock { unsigned srtt_us, snd_cwnd, total_retrans; unsigned long long bytes_acked; };
struct socket { short type; struct sock *sk; struct file *file; };
struct iphdr { unsigned char ihl:4, version:4, protocol; unsigned saddr, daddr; };
struct tcphdr { unsigned short source, dest, doff:4, syn:1, ack:1; };
struct bio { unsigned bi_opf; struct { unsigned long bi_sector; unsigned bi_size; } bi_iter; };
struct gendisk { int major, first_minor; };
struct request_queue { struct gendisk *disk; };
struct request { unsigned cmd_flags, __data_len; struct request_queue *q; unsigned long __sector; };
struct kiocb { struct file *ki_filp; long long ki_pos; };
struct rq { unsigned nr_running; int cpu; };

struct module { char name[56]; };
struct perf_event { int cpu; };
struct trace_event_raw_sys_enter { long id; unsigned long args[6]; };
enum bpf_func_id { BPF_FUNC_loop = 181, BPF_FUNC_ringbuf_output = 130 };
enum bpf_map_type { BPF_MAP_TYPE_RINGBUF = 27 };
enum bpf_prog_type { BPF_PROG_TYPE_TRACING = 26 };
struct bpf_prog { enum bpf_prog_type type; unsigned len; };
struct bpf_map { enum bpf_map_type map_type; unsigned key_size, value_size, max_entries; };

#define EXISTS(field) __builtin_preserve_field_info(field, 2)

PROGRAM(exec) { struct linux_binprm *b = ctx[0]; READ(b->filename); READ(b->argc);
	READ(b->file->f_path.dentry->d_name.name); READ(b->cred->euid.val); return 0; }
PROGRAM(exit_code) { struct task_struct *t = ctx[0]; READ(t->exit_code);
	READ(t->signal->nr_threads);
	READ(t->signal->group_exit_code); READ(t->start_time); return 0; }
PROGRAM(fork) { struct task_struct *t = ctx[0]; READ(t->pid); READ(t->tgid); READ(t->comm[0]);
	READ(t->real_parent->tgid); READ(t->group_leader->start_boottime); return 0; }
PROGRAM(state) { struct task_struct *t = ctx[0]; struct task_struct___old *o = ctx[0];
	if (EXISTS(t->__state)) READ(t->__state); else READ(o->state); READ(t->prio); return 0; }
PROGRAM(container) { struct task_struct *t = ctx[0]; READ(t->nsproxy->uts_ns->ns.inum);
	READ(t->nsproxy->net_ns->ns.inum); READ(t->nsproxy->pid_ns_for_children->level);
	READ(t->thread_pid->numbers[0].nr); READ(t->cgroups->dfl_cgrp->kn->id);
	READ(t->cgroups->dfl_cgrp->kn->name); return 0; }
PROGRAM(creds) { struct task_struct *t = ctx[0]; READ(t->cred->uid.val);
	READ(t->real_cred->euid.val);
	READ(t->cred->user_ns->level); return 0; }
PROGRAM(command_line) { struct task_struct *t = ctx[0]; READ(t->mm->arg_start);
	READ(t->mm->arg_end);
	READ(t->mm->env_start); READ(t->mm->exe_file->f_inode->i_ino); return 0; }
PROGRAM(directory) { struct task_struct *t = ctx[0]; READ(t->fs->pwd.dentry->d_parent);
	READ(t->fs->root.mnt->mnt_root); READ(t->files->fdt->max_fds); READ(t->files->fdt->fd); return 0; }
PROGRAM(open) { struct file *f = ctx[0]; READ(f->f_flags); READ(f->f_inode->i_mode);
	READ(f->f_inode->i_sb->s_magic); READ(f->f_path.dentry->d_parent->d_name.len); return 0; }
PROGRAM(write) { struct kiocb *k = ctx[0]; READ(k->ki_pos); READ(k->ki_filp->f_pos);
	READ(k->ki_filp->f_inode->i_size); READ(k->ki_filp->f_inode->i_sb->s_dev); return 0; }
PROGRAM(mounts) { struct mount *m = ctx[0]; READ(m->mnt_parent);
	READ(m->mnt_mountpoint->d_name.name);
	READ(m->mnt.mnt_root->d_inode->i_ino); return 0; }
PROGRAM(mmap) { struct vm_area_struct *v = ctx[0]; READ(v->vm_start); READ(v->vm_end);
	READ(v->vm_flags); READ(v->vm_file->f_path.dentry); return 0; }
PROGRAM(connect) { struct sock *s = ctx[0]; READ(s->__sk_common.skc_family); READ(s->sk_protocol);
	READ(s->__sk_common.skc_dport); READ(s->__sk_common.skc_daddr);
	READ(s->__sk_common.skc_net.net->ns.inum);
	READ(s->__sk_common.skc_v6_daddr.in6_u.u6_addr32[3]); return 0; }
PROGRAM(accept) { struct socket *s = ctx[0]; struct inet_sock *i = (void *)s->sk; READ(s->type);
	READ(i->inet_saddr); READ(i->inet_sport); READ(s->sk->__sk_common.skc_num); return 0; }
PROGRAM(tcp_state) { struct tcp_sock *t = ctx[0]; READ(t->srtt_us); READ(t->snd_cwnd);
	READ(t->bytes_acked); READ(t->total_retrans); return 0; }
PROGRAM(packet) { struct sk_buff *s = ctx[0]; READ(s->len); READ(s->data); READ(s->dev->ifindex);
	READ(s->head + s->network_header); READ(s->mark); READ(s->protocol); return 0; }
PROGRAM(drop) { struct sk_buff *s = ctx[0]; struct iphdr *i = (void *)(s->head + s->network_header);
	struct tcphdr *t = (void *)(s->head + s->transport_header); READ(i->saddr); READ(i->protocol);
	READ(t->dest); READ(s->dev->name[0]); return 0; }
PROGRAM(block) { struct request *r = ctx[0]; READ(r->cmd_flags); READ(r->__data_len);
	READ(r->__sector); READ(r->q->disk->major); return 0; }
PROGRAM(load_bpf) { struct bpf_prog *p = ctx[0]; struct bpf_map *m = ctx[1]; READ(p->type);
	READ(p->len); READ(m->map_type); READ(m->max_entries); return 0; }
PROGRAM(features) {
	READ(__builtin_preserve_enum_value(*(enum bpf_func_id *)BPF_FUNC_loop, 0));
	READ(__builtin_preserve_enum_value(*(enum bpf_map_type *)BPF_MAP_TYPE_RINGBUF, 1));
	READ(__builtin_preserve_type_info(*(struct task_struct *)0, 1)); return 0; }

#pragma clang attribute pop
