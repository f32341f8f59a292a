// Commands by ioctl(2): their attributes, and those commands that both types of devices have.
#define _GNU_SOURCE
#include "kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PAGE = 4096 };

struct ib_uverbs_attr *attribute(struct ib_uverbs_ioctl_hdr *header, unsigned id) {
  for (unsigned i = 0; i < header->num_attrs; i++) {
    if (header->attrs[i].attr_id == id) {
      return &header->attrs[i];
    }
  }
  return NULL;
}

uint64_t value(struct ib_uverbs_ioctl_hdr *header, unsigned id) {
  struct ib_uverbs_attr *found = attribute(header, id);
  return found ? found->data : 0;
}

const void *content(const struct ib_uverbs_attr *attribute) {
  return attribute->len > sizeof attribute->data ? (const void *)(uintptr_t)attribute->data : &attribute->data;
}

bool read_struct(struct ib_uverbs_ioctl_hdr *header, unsigned id, void *to, size_t known, size_t size) {
  struct ib_uverbs_attr *found = attribute(header, id);
  memset(to, 0, size);
  if (!found || found->len < known) {
    return false;
  }
  const char *from = content(found);
  memcpy(to, from, found->len < size ? found->len : size);
  for (size_t i = size; i < found->len; i++) {
    if (from[i]) {
      return false;
    }
  }
  return true;
}

bool has_attributes(struct ib_uverbs_ioctl_hdr *header, unsigned count, const struct mandatory *needed) {
  for (unsigned i = 0; i < count; i++) {
    struct ib_uverbs_attr *found = attribute(header, needed[i].id);
    if (!found || found->len != needed[i].length) {
      return false;
    }
  }
  return true;
}

void set_handle(struct ib_uverbs_ioctl_hdr *header, unsigned id, uint64_t handle) {
  struct ib_uverbs_attr *found = attribute(header, id);
  if (found) {
    found->data = handle;
  }
}

void put(struct ib_uverbs_ioctl_hdr *header, unsigned id, const void *from, size_t size) {
  struct ib_uverbs_attr *found = attribute(header, id);
  if (found) {
    void *to = (void *)(uintptr_t)found->data;
    size = size < found->len ? size : found->len;
    struct iovec source = {(void *)from, size}, target = {to, size};
    // Nothing is written to an address that is not valid; some containers forbid the call.
    if (process_vm_writev(getpid(), &source, 1, &target, 1, 0) < 0 && errno != EFAULT) {
      memcpy(to, from, size);
    }
  }
}

// --- DMA buffers ---

char *map_dma_buffer(int file, uint64_t offset, uint64_t length, int protection, size_t *mapped) {
  uint64_t in_page = offset % PAGE;
  struct stat status;
  if (fstat(file, &status)) {
    errno = EBADF;
    return NULL;
  }
  if (!status.st_size) {
    errno = ENODEV; // what it exported is gone
    return NULL;
  }
  errno = EINVAL;
  if (!length || offset > (uint64_t)status.st_size || length > status.st_size - offset) {
    return NULL;
  }
  *mapped = in_page + length;
  char *mapping = (char *)syscall(SYS_mmap, NULL, *mapped, protection, MAP_SHARED, file, offset - in_page);
  if (mapping == MAP_FAILED) {
    errno = EINVAL;
    return NULL;
  }
  return mapping;
}

bool read_buffer(struct ib_uverbs_ioctl_hdr *header, unsigned id, struct buffer *buffer) {
  return read_struct(header, id, buffer, sizeof *buffer, sizeof *buffer) && !buffer->flags &&
         buffer->type <= BUFFER_VA;
}

bool is_in_dma_buffer(struct ib_uverbs_ioctl_hdr *header, unsigned id) {
  struct buffer buffer;
  struct stat status;
  return read_buffer(header, id, &buffer) && buffer.type == BUFFER_DMABUF && !fstat(buffer.file, &status) &&
         buffer.address <= (uint64_t)status.st_size && buffer.length <= status.st_size - buffer.address;
}

struct mkey *register_dma_buffer(struct object *pd, int file, uint64_t offset, uint64_t iova, uint64_t length,
                                 unsigned access) {
  size_t mapped;
  int protection = PROT_READ | (access & (LOCAL_WRITE | REMOTE_WRITE | REMOTE_ATOMIC) ? PROT_WRITE : 0);
  errno = EINVAL;
  char *mapping = iova % PAGE == offset % PAGE ? map_dma_buffer(file, offset, length, protection, &mapped) : NULL;
  struct mkey *region = mapping ? new_region(pd, iova, (uint64_t)(mapping + offset % PAGE), length, access) : NULL;
  struct stat status;
  if (region) {
    region->file = fstat(file, &status) ? 0 : status.st_ino;
    region->file_system = region->file ? status.st_dev : 0;
    region->mapping = mapping;
    region->mapping_length = mapped;
  } else if (mapping) {
    munmap(mapping, mapped);
    errno = ENOMEM;
  }
  return region;
}

void revoke_dma_buffer(int file) {
  struct stat revoked;
  if (fstat(file, &revoked)) {
    return;
  }
  for (size_t i = 0; i < sizeof mkeys / sizeof *mkeys; i++) {
    if (mkeys[i] && mkeys[i]->mapping && mkeys[i]->file == revoked.st_ino &&
        mkeys[i]->file_system == revoked.st_dev) {
      mkeys[i]->free = true;
    }
  }
  if (ftruncate(file, 0)) {
    unknown_call("ftruncate of a DMA buffer%.0u%.0u", 0, 0);
  }
}

// --- the DMA-buf heap ---

bool is_heap(const char *path) { return path && !strcmp(path, "/dev/dma_heap/system_cc_shared"); }

int heap_ioctl(unsigned long request, void *argument) {
  struct dma_heap_allocation_data *data = argument;
  if (request != DMA_HEAP_IOCTL_ALLOC) {
    return ENOTTY;
  }
  if (!data->len || data->fd || data->fd_flags & ~(uint32_t)DMA_HEAP_VALID_FD_FLAGS ||
      data->heap_flags & ~(uint64_t)DMA_HEAP_VALID_HEAP_FLAGS) {
    return EINVAL;
  }
  int file = memfd_create("emulated-dma-heap", data->fd_flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
  if (file < 0 || ftruncate(file, (data->len + PAGE - 1) / PAGE * PAGE)) {
    if (file >= 0) {
      close(file);
    }
    return ENOMEM;
  }
  data->fd = file;
  return 0;
}

int reg_dmabuf_mr(struct context *context, struct ib_uverbs_ioctl_hdr *header, unsigned supported) {
  static const struct mandatory needed[] = {
      {UVERBS_ATTR_REG_DMABUF_MR_HANDLE, 0},       {UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE, 0},
      {UVERBS_ATTR_REG_DMABUF_MR_OFFSET, 8},       {UVERBS_ATTR_REG_DMABUF_MR_LENGTH, 8},
      {UVERBS_ATTR_REG_DMABUF_MR_IOVA, 8},         {UVERBS_ATTR_REG_DMABUF_MR_FD, 4},
      {UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, 4},    {UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, 4},
  };
  struct object *pd = find(context, PD, value(header, UVERBS_ATTR_REG_DMABUF_MR_PD_HANDLE));
  unsigned access = value(header, UVERBS_ATTR_REG_DMABUF_MR_ACCESS_FLAGS);
  if (!has_attributes(header, sizeof needed / sizeof *needed, needed) || !pd ||
      access & ~DMA_BUFFER_ACCESS || check_access(access)) {
    return EINVAL;
  }
  if (access & ~(supported | RELAXED_ORDERING)) {
    return EOPNOTSUPP;
  }
  struct mkey *region = register_dma_buffer(
      pd, (int)value(header, UVERBS_ATTR_REG_DMABUF_MR_FD), value(header, UVERBS_ATTR_REG_DMABUF_MR_OFFSET),
      value(header, UVERBS_ATTR_REG_DMABUF_MR_IOVA), value(header, UVERBS_ATTR_REG_DMABUF_MR_LENGTH), access);
  if (!region) {
    return errno;
  }
  set_handle(header, UVERBS_ATTR_REG_DMABUF_MR_HANDLE, region->object.handle);
  PUT(header, UVERBS_ATTR_REG_DMABUF_MR_RESP_LKEY, uint32_t, region->key);
  PUT(header, UVERBS_ATTR_REG_DMABUF_MR_RESP_RKEY, uint32_t, region->key);
  return 0;
}
