// Memory: which keys name which addresses, and copies between them.
#include "kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct mkey *mkeys[1 << 16];
const uint32_t NULL_KEY = 0xf00;
static uint32_t last_key;

char *translate(uint32_t key, uint64_t address, uint64_t length, unsigned access, struct object *pd,
                       uint32_t qpn) {
  struct mkey *m = mkeys[key >> 8 & 0xffff];
  if (!m || m->key != key || m->free || m->pd != pd || (m->access & access) != access) {
    return NULL;
  }
  if (m->window && m->qpn && m->qpn != qpn) {
    return NULL;
  }
  if (address < m->start || length > m->length || address - m->start > m->length - length) {
    return NULL;
  }
  return (char *)(m->address + (address - m->start));
}

bool add_bytes(struct pieces *pieces, void *at, uint32_t length) {
  pieces->piece[pieces->count].at = at;
  pieces->piece[pieces->count++].length = length;
  pieces->length += length;
  return true;
}

void copy(struct pieces *to, uint64_t skip, const struct pieces *from) {
  unsigned t = 0;
  uint64_t t_done = 0;
  while (skip && t < to->count) {
    uint64_t n = to->piece[t].length < skip ? to->piece[t].length : skip;
    skip -= n;
    if (n == to->piece[t].length) {
      t++;
    } else {
      t_done = n;
    }
  }
  for (unsigned f = 0; f < from->count; f++) {
    uint64_t f_done = 0;
    while (f_done < from->piece[f].length && t < to->count) {
      uint64_t n = from->piece[f].length - f_done;
      if (n > to->piece[t].length - t_done) {
        n = to->piece[t].length - t_done;
      }
      char *target = to->piece[t].at, *source = from->piece[f].at;
      if (target && source) {
        memmove(target + t_done, source + f_done, n);
      } else if (target) {
        memset(target + t_done, 0, n);
      }
      f_done += n;
      t_done += n;
      if (t_done == to->piece[t].length) {
        t++;
        t_done = 0;
      }
    }
  }
}

// Whether pages can be pinned: mapped, and writable if need be.
int pin(uint64_t start, uint64_t length, bool writes) {
  if (start + length < start) {
    return EINVAL;
  }
  FILE *maps = fopen("/proc/self/maps", "re");
  uint64_t at = start, from, to;
  char rights[8];
  char line[512];
  while (maps && at < start + length && fgets(line, sizeof line, maps)) {
    if (sscanf(line, "%lx-%lx %7s", &from, &to, rights) == 3 && from <= at && at < to && rights[0] == 'r' &&
        (!writes || rights[1] == 'w')) {
      at = to;
    }
  }
  if (maps) {
    fclose(maps);
  }
  return at >= start + length ? 0 : EFAULT;
}

int check_access(unsigned access) {
  if (access & ~(0x3ffu << 20 | 63)) {
    return EOPNOTSUPP;
  }
  return access & (REMOTE_WRITE | REMOTE_ATOMIC) && !(access & LOCAL_WRITE) ? EINVAL : 0;
}

static const unsigned WRITES = LOCAL_WRITE | REMOTE_WRITE | REMOTE_ATOMIC | MW_BIND;

// Returns NULL and sets errno if it fails.
struct mkey *new_region(struct object *pd, uint64_t start, uint64_t address, uint64_t length, unsigned access) {
  struct mkey *m = new_object(pd->context, MR, sizeof *m, 0);
  if (m) {
    m->pd = pd;
    m->start = start;
    m->address = address;
    m->length = length;
    m->access = access;
    m->key = free_number(&last_key, (void **)mkeys) << 8 | 0x11;
    mkeys[m->key >> 8] = m;
    use(pd);
  }
  return m;
}

struct mkey *register_memory(struct object *pd, uint64_t address, uint64_t start, uint64_t length, unsigned access) {
  if ((address ^ start) & 0xfff || !length || address + length < address) {
    errno = EINVAL;
    return NULL;
  }
  errno = type->bounces(pd->context) ? EOPNOTSUPP : pin(address, length, access & WRITES);
  return errno ? NULL : new_region(pd, start, address, length, access);
}

int reg_mr(struct call *call) {
  const struct ib_uverbs_reg_mr *in = call->in;
  struct object *pd = find(call->context, PD, in->pd_handle);
  int error = pd ? check_access(in->access_flags) : EINVAL;
  if (error) {
    return error;
  }
  struct mkey *m = register_memory(pd, in->start, in->hca_va, in->length, in->access_flags);
  if (!m) {
    return errno;
  }
  struct ib_uverbs_reg_mr_resp out = {.mr_handle = m->object.handle, .lkey = m->key, .rkey = m->key};
  answer(call, &out, sizeof out);
  return 0;
}

static uint64_t pages(uint64_t start, uint64_t length) { return ((start & 0xfff) + length + 0xfff) >> 12; }

int rereg_mr(struct call *call) {
  const struct ib_uverbs_rereg_mr *in = call->in;
  struct mkey *m = find(call->context, MR, in->mr_handle);
  if (!m || m->memory || m->mapping || !in->flags || in->flags & ~7u) {
    return EINVAL;
  }
  struct mkey changed = *m;
  if (in->flags & 1) { // translation
    changed.start = in->hca_va;
    changed.address = in->start;
    changed.length = in->length;
  }
  if (in->flags & 2) {
    changed.pd = find(call->context, PD, in->pd_handle);
  }
  if (in->flags & 4) {
    changed.access = in->access_flags;
  }
  int error = changed.pd ? check_access(changed.access) : EINVAL;
  if (!error && (!changed.length || (changed.start ^ changed.address) & 0xfff)) {
    error = EINVAL;
  }
  if (!error) {
    error = type->bounces(call->context) ? EOPNOTSUPP : pin(changed.address, changed.length, changed.access & WRITES);
  }
  if (error) {
    return error;
  }
  unuse(m->pd);
  use(changed.pd);
  // A kernel changes access and domain in place, and creates a new key where the memory has more pages.
  if (pages(changed.address, changed.length) > pages(m->address, m->length)) {
    changed.key = (m->key & ~0xffu) | ((m->key + 1) & 0xff);
  }
  *m = changed;
  answer(call, &(struct ib_uverbs_rereg_mr_resp){.lkey = m->key, .rkey = m->key},
         sizeof(struct ib_uverbs_rereg_mr_resp));
  return 0;
}

int alloc_mw(struct call *call) {
  const struct ib_uverbs_alloc_mw *in = call->in;
  struct object *pd = find(call->context, PD, in->pd_handle);
  if (!pd || in->mw_type < 1 || in->mw_type > 2) {
    return EINVAL;
  }
  struct mkey *m = new_object(call->context, MW, sizeof *m, 0);
  if (!m) {
    return errno;
  }
  m->pd = pd;
  m->window = m->free = true;
  m->type = in->mw_type;
  m->key = free_number(&last_key, (void **)mkeys) << 8;
  mkeys[m->key >> 8] = m;
  use(pd);
  answer(call, &(struct ib_uverbs_alloc_mw_resp){.mw_handle = m->object.handle, .rkey = m->key},
         sizeof(struct ib_uverbs_alloc_mw_resp));
  return 0;
}

int dereg_mr(struct call *call) { return destroy_handle(call, MR, *(const uint32_t *)call->in); }

int dealloc_mw(struct call *call) { return destroy_handle(call, MW, *(const uint32_t *)call->in); }
