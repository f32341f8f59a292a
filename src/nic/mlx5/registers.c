// The doorbell registers (UAR pages) of contexts, and the entries that programs copy into them (BlueFlame).
//
// A page has two registers of two halves, which a program uses in turn: it writes the first eight bytes of the last entry that it
// posted to one half, or copies a single entry of up to a half into it. A ConnectX executes a copy without a read of the
// queue's memory, and so does this device. But here a register is memory: it does not show what was written last, or whether
// a copy is complete. So the device overwrites ("erases") what it has executed with a word that no entry begins with, and a copy
// in which that word is left is incomplete. A copy that may be incomplete nevertheless is executed only if it is equal to the
// entry in the queue's memory, which the program writes first. Otherwise the device fetches the entry from there, which is
// always right.
#define _GNU_SOURCE
#include "mlx5.h"

#include <endian.h>
#include <errno.h>
#include <rdma/mlx5_user_ioctl_cmds.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { REGISTERS = 2, HALVES = 2, REGISTERS_OFFSET = 0x800, WORDS = sizeof((struct copied *)0)->words / sizeof(uint64_t) };
_Static_assert(REGISTER_BYTES == HALVES * WORDS * sizeof(uint64_t), "halves");
enum { MAX_PAGES = 1 << 16, MOST_PAGES = 128 };

// How the pages of a context are numbered: by the kernel, by libmlx5, by the handle of an object.
enum { STATIC_PAGES = 0, DYNAMIC_PAGES = 1 << 8, ALLOCATED_PAGES = 1 << 9 };

// Not the start of an entry: no queue pair has the number that it would name.
static const uint64_t ERASED = UINT64_C(0xd1b54a32d192ed03);

struct uar {
  struct object object;
  struct uar *next, **at; // at: the pointer to this page in the list
  unsigned number;        // within the context
  unsigned place;         // in the file
  char *page;
  bool dedicated[REGISTERS];        // to a queue pair, by the kernel
  bool remains[REGISTERS * HALVES]; // there may be words of entries that were executed
};

static struct uar *all_uars;
static bool places[MAX_PAGES];
static uint64_t entries[2];

// Entries that were executed since the start: [0] from a register, [1] from the queue's memory.
__attribute__((visibility("default"))) void emulated_nic_entries(uint64_t counts[2]) {
  pthread_mutex_lock(&nic_lock);
  memcpy(counts, entries, sizeof entries);
  pthread_mutex_unlock(&nic_lock);
}

// --- pages ---

static uint64_t *half_at(const struct uar *uar, int half) {
  return (uint64_t *)(uar->page + REGISTERS_OFFSET) + half * WORDS;
}

static struct uar *find_uar(const struct context *context, unsigned number) {
  struct uar *uar = all_uars;
  while (uar && (uar->object.context != context || uar->number != number)) {
    uar = uar->next;
  }
  return uar;
}

// All pages are in one file, which both the program and the device map.
static void *map_page(unsigned place) {
  static int file = -1;
  if (file < 0) {
    int created = memfd_create("emulated-mlx5-registers", MFD_CLOEXEC);
    if (created < 0 || ftruncate(created, (off_t)MAX_PAGES * PAGE)) {
      int error = errno;
      if (created >= 0) {
        close(created);
      }
      errno = error;
      return MAP_FAILED;
    }
    file = created;
  }
  return (void *)syscall(SYS_mmap, NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)place * PAGE);
}

// Returns NULL and sets errno if it fails.
static struct uar *new_uar(struct context *context, unsigned number) {
  unsigned place = 0;
  while (place < MAX_PAGES && places[place]) {
    place++;
  }
  if (place == MAX_PAGES) {
    errno = ENOMEM;
    return NULL;
  }
  char *page = map_page(place);
  if (page == MAP_FAILED) {
    return NULL;
  }
  struct uar *uar = new_object(context, UAR, sizeof *uar, 0);
  if (!uar) {
    munmap(page, PAGE);
    return NULL;
  }
  places[place] = true;
  uar->number = number;
  uar->place = place;
  uar->page = page;
  memset(page, 0, PAGE);
  for (int i = 0; i < REGISTERS * HALVES * WORDS; i++) {
    half_at(uar, 0)[i] = ERASED;
  }
  LINK(uar, all_uars);
  return uar;
}

void free_registers(struct object *object) {
  struct uar *uar = (struct uar *)object;
  for (struct qp *qp = all_qps; qp; qp = qp->next) {
    if (qp->uar == uar) {
      qp->uar = NULL;
    }
  }
  UNLINK(uar);
  munmap(uar->page, PAGE);
  places[uar->place] = false;
}

// The command and the index are those of the offset that libmlx5 maps.
void *map_registers(struct context *context, unsigned command, unsigned index, size_t length) {
  bool is_static = command != MLX5_IB_MMAP_ALLOC_WC;
  unsigned number = is_static ? STATIC_PAGES + index : DYNAMIC_PAGES + index;
  struct uar *uar = find_uar(context, number);
  unsigned pages = is_static ? context->registers / REGISTERS : MOST_PAGES;
  if (length != PAGE || (!uar && index >= pages)) {
    errno = EINVAL;
    return MAP_FAILED;
  }
  if (!uar) {
    uar = new_uar(context, number);
  }
  return uar ? map_page(uar->place) : MAP_FAILED;
}

// Commands by ioctl(2), for contexts without numbered pages, and for programs that use the device without queue pairs.
int alloc_uar(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  unsigned number = ALLOCATED_PAGES;
  while (find_uar(context, number)) {
    number++;
  }
  if (number - ALLOCATED_PAGES >= MOST_PAGES) {
    return ENOMEM;
  }
  struct uar *uar = new_uar(context, number);
  if (!uar) {
    return errno;
  }
  uint64_t index = number - DYNAMIC_PAGES;
  uint64_t page = (index & 0xff) | MLX5_IB_MMAP_ALLOC_WC << 8 | index >> 8 << 16;
  set_handle(header, MLX5_IB_ATTR_UAR_OBJ_ALLOC_HANDLE, uar->object.handle);
  PUT(header, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_OFFSET, uint64_t, page * PAGE);
  PUT(header, MLX5_IB_ATTR_UAR_OBJ_ALLOC_MMAP_LENGTH, uint32_t, PAGE);
  PUT(header, MLX5_IB_ATTR_UAR_OBJ_ALLOC_PAGE_ID, uint32_t, uar->object.handle);
  return 0;
}

int free_uar(struct context *context, struct ib_uverbs_ioctl_hdr *header) {
  struct uar *uar = find(context, UAR, value(header, MLX5_IB_ATTR_UAR_OBJ_DESTROY_HANDLE));
  return uar && uar->number >= ALLOCATED_PAGES ? destroy(&uar->object) : EINVAL;
}

// --- registers of queue pairs ---

static void use_register(struct qp *qp, unsigned page, int number) {
  qp->uar = find_uar(qp->object.context, page);
  qp->register_number = number;
}

// That of a queue pair for which libmlx5 has chosen one: a register of a numbered page, or an allocated page.
void use_own_register(struct qp *qp, uint32_t index, bool is_page) {
  if (is_page) {
    qp->uar = find(qp->object.context, UAR, index);
    qp->register_number = -1;
  } else {
    use_register(qp, DYNAMIC_PAGES + index / REGISTERS, index % REGISTERS);
  }
}

// Chooses a register as the kernel does: a dedicated one while there are some, else one of those that queue pairs share with a
// lock, else the first one, into which nothing is copied. Returns its index, as libmlx5 counts registers: four for each page.
uint32_t choose_register(struct qp *qp) {
  struct context *context = qp->object.context;
  unsigned first = context->registers - context->low_latency_registers;
  unsigned number = first > 1 ? 1 + context->next_register % (first - 1) : 0;
  for (unsigned i = first; i < context->registers; i++) {
    struct uar *uar = find_uar(context, STATIC_PAGES + i / REGISTERS);
    if (uar && !uar->dedicated[i % REGISTERS]) {
      uar->dedicated[i % REGISTERS] = qp->has_dedicated_register = true;
      number = i;
      break;
    }
  }
  context->next_register += !qp->has_dedicated_register;
  use_register(qp, STATIC_PAGES + number / REGISTERS, (int)number % REGISTERS);
  return number / REGISTERS * 4 + number % REGISTERS;
}

// Whether a half is of the register of the queue pair, which the device does not know if only the page was named.
static bool is_own(const struct qp *qp, int half) {
  return qp->register_number < 0 || qp->register_number == half / HALVES;
}

// --- entries ---

static uint64_t word(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

// The first word of an entry: opmod 8, index 16, opcode 8, queue pair number 24, size in 16-byte units 6.
static uint32_t number_in(uint64_t first) { return be64toh(first) >> 8 & 0xffffff; }
static uint16_t index_in(uint64_t first) { return be64toh(first) >> 40 & 0xffff; }
static unsigned units_in(uint64_t first) { return be64toh(first) & 0x3f; }

// Whether another queue pair has posted something to the same register that was not executed yet.
static bool is_used_by_others(const struct qp *qp, int half) {
  for (const struct qp *other = all_qps; other; other = other->next) {
    if (other != qp && other->uar == qp->uar && is_own(other, half) &&
        other->sq_consumer != (uint16_t)be32toh(other->doorbell[1])) {
      return true;
    }
  }
  return false;
}

// Whether the words of a copy are all of one entry. Words are written in order, so that the start of an entry shows that all
// earlier copies into this register are complete: none of their words arrives later. Words of an earlier copy can be there only
// if its entry was fetched, or waits in another queue.
static bool is_complete(const struct qp *qp, const struct copied *copied, size_t bytes) {
  for (size_t i = 0; i < bytes / sizeof(uint64_t); i++) {
    if (copied->words[i] == ERASED) {
      return false;
    }
  }
  return !qp->uar->remains[copied->half] && !is_used_by_others(qp, copied->half);
}

// A program begins to write to a half when all that it has written to the other one is there. If that was of executed entries, or
// of a copy that was erased while it was written, no word of it is left from now on.
static void clear_other_half(struct qp *qp, int half) {
  int other = half ^ 1;
  uint64_t *at = half_at(qp->uar, other), first = word(at);
  bool is_old = first == ERASED || (number_in(first) == qp->number && (int16_t)(index_in(first) - qp->sq_consumer) < 0);
  for (const struct qp *sharer = all_qps; sharer; sharer = sharer->next) {
    if (sharer != qp && sharer->uar == qp->uar && is_own(sharer, other)) {
      return; // It may be interrupted while it writes to the other half.
    }
  }
  if (!qp->uar->remains[other] || !is_old) {
    return;
  }
  for (int i = 0; i < WORDS; i++) {
    uint64_t read = word(at + i);
    __atomic_compare_exchange_n(at + i, &read, ERASED, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
  qp->uar->remains[other] = false;
}

// One look at the register. False: the entry is not there.
static bool look(struct qp *qp, char *entry, struct copied *copied) {
  copied->half = -1;
  for (int half = 0; half < REGISTERS * HALVES; half++) {
    const uint64_t *at = half_at(qp->uar, half);
    uint64_t first = word(at);
    if (!is_own(qp, half) || number_in(first) != qp->number || index_in(first) != qp->sq_consumer) {
      continue;
    }
    for (int i = 0; i < WORDS; i++) {
      copied->words[i] = word(at + i);
    }
    // A later copy begins with another word: that one is written first.
    if (copied->words[0] != first || word(at) != first) {
      return false;
    }
    copied->half = half;
    clear_other_half(qp, half);
    unsigned units = units_in(first);
    size_t bytes = (units * 16 + 63) & ~63u;
    if (units < 2 || bytes > sizeof copied->words) {
      return false;
    }
    copied->is_complete = is_complete(qp, copied, bytes);
    if (!copied->is_complete && memcmp(entry, copied->words, bytes)) {
      return false;
    }
    memcpy(entry, copied->words, bytes);
    return true;
  }
  return false;
}

// Replaces the next entry of a queue, as it is in memory, by the copy in the register. False: there is none. The program writes
// the doorbell record before the register; the device waits a little between them if it moves by itself.
bool take_copy(struct qp *qp, char *entry, unsigned blocks, struct copied *copied) {
  copied->half = -1;
  if (!qp->uar) {
    return false;
  }
  bool is_last = (uint16_t)(qp->sq_consumer + blocks) == (uint16_t)be32toh(qp->doorbell[1]);
  bool is_copied = look(qp, entry, copied);
  for (int more = is_last && !by_step ? 20 : 0; more > 0 && !is_copied; more--) {
    __builtin_ia32_pause();
    is_copied = look(qp, entry, copied);
  }
  return is_copied;
}

// Of the words that the device has read, those that the program has not overwritten since.
static void erase(struct uar *uar, const struct copied *copied) {
  uint64_t *at = half_at(uar, copied->half);
  for (int i = 0; i < WORDS; i++) {
    uint64_t read = copied->words[i];
    __atomic_compare_exchange_n(at + i, &read, ERASED, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  }
}

// The next entry of a queue was executed, or flushed: it is not executed again from the register.
void after_entry(struct qp *qp, const struct copied *copied, bool was_copied, bool was_executed) {
  if (was_executed) {
    entries[was_copied ? 0 : 1]++;
  }
  if (!qp->uar) {
    return;
  }
  if (copied->half >= 0) {
    erase(qp->uar, copied);
  }
  for (int half = 0; half < REGISTERS * HALVES; half++) {
    // A copy may still be in progress if it was not taken, or only because what was there was equal to the entry.
    if (half == copied->half || (copied->half < 0 && is_own(qp, half))) {
      qp->uar->remains[half] = !(was_copied && copied->is_complete);
    }
  }
}

// What a queue pair has posted is not executed any more: its numbers come again after a reset.
void forget_copies(struct qp *qp) {
  for (int half = 0; qp->uar && half < REGISTERS * HALVES; half++) {
    uint64_t *at = half_at(qp->uar, half), first = word(at);
    if (is_own(qp, half) && number_in(first) == qp->number) {
      __atomic_compare_exchange_n(at, &first, ERASED, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
    qp->uar->remains[half] |= is_own(qp, half);
  }
}

// At the end of a queue pair.
void release_register(struct qp *qp) {
  forget_copies(qp);
  if (qp->uar && qp->has_dedicated_register) {
    qp->uar->dedicated[qp->register_number] = false;
  }
}
