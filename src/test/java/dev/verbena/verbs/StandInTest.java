package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import dev.verbena.internal.Abi;
import dev.verbena.internal.Memory;
import dev.verbena.raw.ibv_alloc_dm_attr;
import dev.verbena.raw.ibv_comp_cntr;
import dev.verbena.raw.ibv_comp_cntr_caps;
import dev.verbena.raw.ibv_counter_attach_attr;
import dev.verbena.raw.ibv_counters;
import dev.verbena.raw.ibv_cq_init_attr_ex;
import dev.verbena.raw.ibv_dm;
import dev.verbena.raw.ibv_dmah;
import dev.verbena.raw.ibv_dmah_init_attr;
import dev.verbena.raw.ibv_moderate_cq;
import dev.verbena.raw.ibv_modify_cq_attr;
import dev.verbena.raw.ibv_mr;
import dev.verbena.raw.ibv_mr_init_attr;
import dev.verbena.raw.ibv_parent_domain_init_attr;
import dev.verbena.raw.ibv_pd;
import dev.verbena.raw.ibv_qp_attach_comp_cntr_attr;
import dev.verbena.raw.ibv_rwq_ind_table;
import dev.verbena.raw.ibv_rwq_ind_table_init_attr;
import dev.verbena.raw.ibv_rx_hash_conf;
import dev.verbena.raw.ibv_sge;
import dev.verbena.raw.ibv_td;
import dev.verbena.raw.ibv_wq;
import dev.verbena.raw.ibv_wq_attr;
import dev.verbena.raw.ibv_wq_init_attr;
import dev.verbena.raw.rdma_h;
import dev.verbena.testing.MemoryProvider;
import java.lang.foreign.Arena;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** What Soft-RoCE does not have, against a stand-in: what C would get, and what comes back. */
class StandInTest {
  private final Arena arena = Arena.ofShared();
  private final Played played = new Played();
  private final MemoryProvider provider = new MemoryProvider().play(played);
  private final Context context = Device.list(provider).getFirst().open();
  private final ProtectionDomain pd = context.allocateProtectionDomain();

  @AfterEach
  void close() {
    context.close();
    provider.close();
    arena.close();
    assertEquals(0, played.live, "something was not given back");
  }

  /** A C object whose first field is its context. */
  private long made(GroupLayout raw, long owner) {
    played.live++;
    MemorySegment made = arena.allocate(Abi.current().sizeOf(raw), 8);
    made.set(ValueLayout.JAVA_LONG, 0, owner);
    return made.address();
  }

  private MemorySegment copied(long address, long size) {
    return arena.allocate(size, 8).copyFrom(Memory.at(address, size));
  }

  /** Plays what the device in memory does not. */
  @SuppressWarnings({"unused", "EffectivelyPrivate"}) // Found by name.
  private final class Played {
    private int live;
    private MemorySegment attr;
    private long[] arguments;
    private VerbsException refusal;
    private final byte[] deviceMemory = new byte[256];
    private long counter;
    private long errors;

    private int gone() {
      live--;
      return 0;
    }

    // Device memory
    public long alloc_dm(long context, long attributes) {
      attr = copied(attributes, ibv_alloc_dm_attr.sizeof());
      MemorySegment dm = Memory.at(made(ibv_dm.layout(), context), ibv_dm.sizeof());
      ibv_dm.handle(dm, 77);
      ibv_dm.memcpy_to_dm(dm, ibv_dm.memcpy_to_dm.allocate(this::write, arena));
      ibv_dm.memcpy_from_dm(dm, ibv_dm.memcpy_from_dm.allocate(this::read, arena));
      return dm.address();
    }

    private int write(MemorySegment dm, long offset, MemorySegment host, long length) {
      MemorySegment.copy(
          Memory.at(host.address(), length),
          0,
          MemorySegment.ofArray(deviceMemory),
          offset,
          length);
      return 0;
    }

    private int read(MemorySegment host, MemorySegment dm, long offset, long length) {
      MemorySegment.copy(
          MemorySegment.ofArray(deviceMemory),
          offset,
          Memory.at(host.address(), length),
          0,
          length);
      return 0;
    }

    public int free_dm(long dm) {
      return gone();
    }

    public long reg_dm_mr(long pd, long dm, long offset, long length, int access) {
      arguments = new long[] {offset, length, access};
      return region(pd, length);
    }

    public long ibv_import_dm(long context, int handle) {
      return made(ibv_dm.layout(), context);
    }

    public void ibv_unimport_dm(long dm) {
      gone();
    }

    public int ibv_dm_export_dmabuf_fd(long dm) {
      return 42;
    }

    // Memory regions
    private long region(long pd, long length) {
      MemorySegment mr = Memory.at(made(ibv_mr.layout(), Memory.getLong(pd)), ibv_mr.sizeof());
      ibv_mr.pd(mr, MemorySegment.ofAddress(pd));
      ibv_mr.length(mr, length);
      ibv_mr.lkey(mr, 0x100);
      ibv_mr.rkey(mr, 0x200);
      return mr.address();
    }

    public void ibv_dereg_mr(long mr) {
      gone();
    }

    public long ibv_reg_mr(long pd, long address, long length, int access) {
      if (refusal != null) {
        throw refusal;
      }
      arguments = new long[] {address, length, access};
      return region(pd, length);
    }

    public long ibv_reg_mr_ex(long pd, long attributes) {
      attr = copied(attributes, ibv_mr_init_attr.sizeof());
      return region(pd, ibv_mr_init_attr.length(attr));
    }

    public long ibv_reg_dmabuf_mr(
        long pd, long offset, long length, long iova, int fd, int access) {
      arguments = new long[] {offset, length, iova, fd, access};
      return region(pd, length);
    }

    public long alloc_null_mr(long pd) {
      return region(pd, 0);
    }

    public int ibv_rereg_mr(long mr, int flags, long pd, long address, long length, int access) {
      arguments = new long[] {flags, pd, address, length, access};
      ibv_mr.lkey(Memory.at(mr, ibv_mr.sizeof()), 0x300);
      return 0;
    }

    public int advise_mr(long pd, int advice, int flags, long list, int count) {
      attr = copied(list, ibv_sge.sizeof());
      arguments = new long[] {advice, flags, count};
      return 0;
    }

    public long ibv_import_mr(long pd, int handle) {
      return region(pd, 4096);
    }

    public void ibv_unimport_mr(long mr) {
      gone();
    }

    public long ibv_import_pd(long context, int handle) {
      return made(ibv_pd.layout(), context);
    }

    public void ibv_unimport_pd(long pd) {
      gone();
    }

    public long ibv_alloc_dmah(long context, long attributes) {
      attr = copied(attributes, ibv_dmah_init_attr.sizeof());
      return made(ibv_dmah.layout(), context);
    }

    public void ibv_dealloc_dmah(long dmah) {
      gone();
    }

    // Domains
    public long alloc_td(long context, long attributes) {
      return made(ibv_td.layout(), context);
    }

    public int dealloc_td(long td) {
      return gone();
    }

    public long alloc_parent_domain(long context, long attributes) {
      attr = copied(attributes, ibv_parent_domain_init_attr.sizeof());
      return provider.verbs().ibv_alloc_pd(context);
    }

    // Completion queues
    public int modify_cq(long cq, long attributes) {
      attr = copied(attributes, ibv_modify_cq_attr.sizeof());
      return 0;
    }

    public long create_cq_ex(long context, long attributes) {
      attr = copied(attributes, ibv_cq_init_attr_ex.sizeof());
      return provider.verbs().ibv_create_cq(context, ibv_cq_init_attr_ex.cqe(attr), 0, 0, 0);
    }

    // Work queues
    public long create_wq(long context, long attributes) {
      attr = copied(attributes, ibv_wq_init_attr.sizeof());
      MemorySegment given = Memory.at(attributes, ibv_wq_init_attr.sizeof());
      ibv_wq_init_attr.max_wr(given, ibv_wq_init_attr.max_wr(given) + 1);
      MemorySegment wq =
          Memory.at(made(ibv_wq.layout(), context), Abi.current().sizeOf(ibv_wq.layout()));
      ibv_wq.wq_num(wq, 5);
      ibv_wq.post_recv(wq, ibv_wq.post_recv.allocate(this::post, arena));
      return wq.address();
    }

    private int post(MemorySegment wq, MemorySegment wr, MemorySegment bad) {
      arguments = new long[] {wq.address(), wr.address()};
      return 0;
    }

    public int modify_wq(long wq, long attributes) {
      attr = copied(attributes, ibv_wq_attr.sizeof());
      ibv_wq.state(Memory.at(wq, ibv_wq.sizeof()), ibv_wq_attr.wq_state(attr));
      return 0;
    }

    public int destroy_wq(long wq) {
      return gone();
    }

    public long create_rwq_ind_table(long context, long attributes) {
      attr = copied(attributes, ibv_rwq_ind_table_init_attr.sizeof());
      int size = 1 << ibv_rwq_ind_table_init_attr.log_ind_tbl_size(attr);
      arguments =
          Memory.at(ibv_rwq_ind_table_init_attr.ind_tbl(attr).address(), 8L * size)
              .toArray(ValueLayout.JAVA_LONG);
      MemorySegment table =
          Memory.at(made(ibv_rwq_ind_table.layout(), context), ibv_rwq_ind_table.sizeof());
      ibv_rwq_ind_table.ind_tbl_num(table, 9);
      return table.address();
    }

    public int destroy_rwq_ind_table(long table) {
      return gone();
    }

    // Counters
    public long create_counters(long context, long attributes) {
      return made(ibv_counters.layout(), context);
    }

    public int destroy_counters(long counters) {
      return gone();
    }

    public int attach_counters_point_flow(long counters, long attributes, long flow) {
      attr = copied(attributes, ibv_counter_attach_attr.sizeof());
      arguments = new long[] {flow};
      return 0;
    }

    public int read_counters(long counters, long values, int count, int flags) {
      arguments = new long[] {flags};
      for (int i = 0; i < count; i++) {
        Memory.putLong(values + 8L * i, 100 + i);
      }
      return 0;
    }

    public long ibv_create_comp_cntr(long context, long attributes) {
      return made(ibv_comp_cntr.layout(), context);
    }

    public void ibv_destroy_comp_cntr(long cntr) {
      gone();
    }

    public void ibv_set_comp_cntr(long cntr, long value) {
      counter = value;
    }

    public void ibv_set_err_comp_cntr(long cntr, long value) {
      errors = value;
    }

    public void ibv_inc_comp_cntr(long cntr, long amount) {
      counter += amount;
    }

    public void ibv_inc_err_comp_cntr(long cntr, long amount) {
      errors += amount;
    }

    public void ibv_read_comp_cntr(long cntr, long value) {
      Memory.putLong(value, counter);
    }

    public void ibv_read_err_comp_cntr(long cntr, long value) {
      Memory.putLong(value, errors);
    }

    public void ibv_qp_attach_comp_cntr(long qp, long cntr, long attributes) {
      attr = copied(attributes, ibv_qp_attach_comp_cntr_attr.sizeof());
    }

    public void _ibv_query_comp_cntr_caps(long context, long caps, long size) {
      MemorySegment struct = Memory.at(caps, size);
      ibv_comp_cntr_caps.max_value(struct, -1);
      ibv_comp_cntr_caps.max_counters(struct, 8);
      ibv_comp_cntr_caps.supported_qp_attach_ops(struct, 0b100001);
    }
  }

  @Test
  void deviceMemoryIsCopiedAndRegistered() {
    DeviceMemory memory = context.allocateDeviceMemory(256, 64);
    assertEquals(256, ibv_alloc_dm_attr.length(played.attr));
    assertEquals(6, ibv_alloc_dm_attr.log_align_req(played.attr));
    assertEquals(77, memory.handle());
    assertEquals(42, memory.exportDmaBuf());
    memory.write(8, arena.allocateFrom("on the device"));
    MemorySegment back = arena.allocate(14);
    memory.read(8, back);
    assertEquals("on the device", back.getString(0));
    assertThrows(IndexOutOfBoundsException.class, () -> memory.write(250, back));
    assertThrows(IndexOutOfBoundsException.class, () -> memory.read(-1, back));
    assertThrows(IllegalArgumentException.class, () -> memory.read(0, back.asReadOnly()));
    assertThrows(
        IllegalArgumentException.class, () -> memory.write(0, MemorySegment.ofArray(new byte[1])));
    MemoryRegion region = memory.register(pd, 64, 128, AccessFlag.LOCAL_WRITE);
    assertArrayEquals(new long[] {64, 128, 1 | 1 << 5}, played.arguments);
    assertEquals(0, region.start());
    assertEquals(128, region.addressOf(128, 0));
    assertThrows(IndexOutOfBoundsException.class, () -> memory.register(pd, 200, 57));
    memory.close();
    assertFalse(region.isOpen());
    assertThrows(IllegalStateException.class, () -> memory.read(0, back));
  }

  @Test
  void memoryOfOtherProcessesIsImported() {
    DeviceMemory memory = context.importDeviceMemory(77, 256);
    assertEquals(256, memory.length());
    ProtectionDomain imported = context.importProtectionDomain(3);
    MemoryRegion region =
        imported.importMemoryRegion(7, 0x5000, AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ);
    assertEquals(4096, region.length());
    assertEquals(0x5008, region.addressOf(8, 4088));
    assertEquals(0, region.memory().byteSize());
    assertEquals(Set.of(AccessFlag.LOCAL_WRITE, AccessFlag.REMOTE_READ), region.access());
  }

  @Test
  void registrationsWith64BitLengthsAndWithoutMemoryHere() {
    MemoryRegion all = pd.registerAddressSpace(AccessFlag.LOCAL_WRITE);
    assertArrayEquals(new long[] {0, -1, 1 | 1 << 6}, played.arguments);
    assertEquals(0x7000_0000_0000L, all.addressOf(0x7000_0000_0000L, 1L << 40));
    MemorySegment large = MemorySegment.ofAddress(0x10000).reinterpret(1L << 40);
    assertEquals(1L << 40, pd.registerMemory(large).length());
    assertArrayEquals(new long[] {0x10000, 1L << 40, 0}, played.arguments);
    MemoryRegion none = pd.allocateNullRegion();
    assertEquals(0, none.addressOf(0, 1L << 40));
    MemoryRegion buffer = pd.dmaBuf(9, 4096, 8192).access(AccessFlag.LOCAL_WRITE).register();
    assertArrayEquals(new long[] {4096, 8192, 4096, 9, 1}, played.arguments);
    assertEquals(4096, buffer.start());
    assertEquals(0x2000, pd.dmaBuf(9, 0, 8192).start(0x2000).register().start());
    assertArrayEquals(new long[] {0, 8192, 0x2000, 9, 0}, played.arguments);
    assertEquals(0, pd.registerMemory(arena.allocate(8), AccessFlag.ZERO_BASED).start());
  }

  @Test
  void theLimitOfLockedMemoryIsNamed() {
    played.refusal = new VerbsException("ibv_reg_mr", Errno.ENOMEM);
    var thrown = assertThrows(VerbsException.class, () -> pd.registerMemory(arena.allocate(4096)));
    assertEquals(Errno.ENOMEM, thrown.errno());
    String message = thrown.getMessage();
    assertTrue(message.contains("limit of locked memory is "), message);
    assertTrue(message.contains("ulimit -l"), message);
    assertFalse(message.contains("unknown"), message);
  }

  @Test
  void dmaHandlesGoIntoRegistrations() {
    DmaHandle handle =
        context
            .dmaHandle()
            .cpu(3)
            .processingHint(2)
            .memoryType(DmaHandle.MemoryType.PERSISTENT)
            .create();
    assertEquals(7, ibv_dmah_init_attr.comp_mask(played.attr));
    assertEquals(3, ibv_dmah_init_attr.cpu_id(played.attr));
    assertEquals(2, ibv_dmah_init_attr.ph(played.attr));
    assertEquals(1, ibv_dmah_init_attr.tph_mem_type(played.attr));
    MemorySegment memory = arena.allocate(64);
    MemoryRegion region = pd.memory(memory).dmaHandle(handle).start(0x40).register();
    assertEquals(memory.address(), ibv_mr_init_attr.addr(played.attr).address());
    assertEquals(0x40, ibv_mr_init_attr.iova(played.attr));
    assertEquals(handle.segment().address(), ibv_mr_init_attr.dmah(played.attr).address());
    assertEquals(
        rdma_h.IBV_REG_MR_MASK_DMAH()
            | rdma_h.IBV_REG_MR_MASK_ADDR()
            | rdma_h.IBV_REG_MR_MASK_IOVA(),
        ibv_mr_init_attr.comp_mask(played.attr));
    pd.dmaBuf(4, 8, 16).dmaHandle(handle).register();
    assertEquals(4, ibv_mr_init_attr.fd(played.attr));
    assertEquals(8, ibv_mr_init_attr.fd_offset(played.attr));
    assertEquals(
        rdma_h.IBV_REG_MR_MASK_DMAH()
            | rdma_h.IBV_REG_MR_MASK_FD()
            | rdma_h.IBV_REG_MR_MASK_FD_OFFSET()
            | rdma_h.IBV_REG_MR_MASK_IOVA(),
        ibv_mr_init_attr.comp_mask(played.attr));
    handle.close();
    assertFalse(region.isOpen());
  }

  @Test
  void aRegionIsChanged() {
    MemoryRegion region = pd.registerMemory(arena.allocate(64));
    MemorySegment other = arena.allocate(128);
    region.reregister(other);
    assertArrayEquals(
        new long[] {1, pd.segment().address(), other.address(), 128, 0}, played.arguments);
    assertSame(other, region.memory());
    assertEquals(128, region.length());
    assertEquals(0x300, region.lkey());
    region.reregister(AccessFlag.LOCAL_WRITE);
    assertEquals(4, played.arguments[0]);
    assertEquals(1, played.arguments[4]);
    assertEquals(Set.of(AccessFlag.LOCAL_WRITE), region.access());
    ProtectionDomain second = context.allocateProtectionDomain();
    region.reregister(second);
    assertEquals(2, played.arguments[0]);
    assertSame(second, region.domain());
    pd.close();
    assertTrue(region.isOpen());
    second.close();
    assertFalse(region.isOpen());
  }

  @Test
  void adviceNamesARange() {
    MemorySegment memory = arena.allocate(64);
    MemoryRegion region = pd.registerMemory(memory);
    region.advise(MemoryAdvice.PREFETCH_WRITE, 16, 32, true);
    assertArrayEquals(new long[] {1, 1, 1}, played.arguments);
    assertEquals(memory.address() + 16, ibv_sge.addr(played.attr));
    assertEquals(32, ibv_sge.length(played.attr));
    assertEquals(region.lkey(), ibv_sge.lkey(played.attr));
  }

  @Test
  void parentDomainsHaveAThreadDomainAndAllocators() {
    ThreadDomain thread = context.allocateThreadDomain();
    List<String> calls = new ArrayList<>();
    MemorySegment memory = arena.allocate(4096, 4096);
    ProviderAllocator allocator =
        new ProviderAllocator() {
          @Override
          public MemorySegment allocate(long size, long alignment, long resource) {
            calls.add("allocate " + size + " " + alignment + " " + resource);
            return size == 1 ? null : memory;
          }

          @Override
          public void free(MemorySegment freed, long resource) {
            assertSame(memory, freed);
            calls.add("free " + resource);
          }
        };
    ParentDomain parent =
        pd.parentDomain()
            .threadDomain(thread)
            .allocator(allocator)
            .allowUnprotectedMemory()
            .create();
    assertSame(pd, parent.base());
    assertEquals(Optional.of(thread), parent.threadDomain());
    MemorySegment attr = played.attr;
    assertEquals(pd.segment().address(), ibv_parent_domain_init_attr.pd(attr).address());
    assertEquals(thread.segment().address(), ibv_parent_domain_init_attr.td(attr).address());
    assertEquals(5, ibv_parent_domain_init_attr.comp_mask(attr));
    MemorySegment alloc = ibv_parent_domain_init_attr.alloc(attr);
    MemorySegment none = MemorySegment.NULL;
    assertEquals(
        -1, ibv_parent_domain_init_attr.alloc.invoke(alloc, none, none, 1, 1, 7).address());
    assertEquals(
        memory.address(),
        ibv_parent_domain_init_attr.alloc.invoke(alloc, none, none, 4096, 4096, 7).address());
    ibv_parent_domain_init_attr.free.invoke(
        ibv_parent_domain_init_attr.free(attr), none, none, memory, 7);
    assertEquals(List.of("allocate 1 1 7", "allocate 4096 4096 7", "free 7"), calls);
    CompletionQueue cq = context.completionQueue(4).parentDomain(parent).create();
    assertEquals(
        parent.segment().address(), ibv_cq_init_attr_ex.parent_domain(played.attr).address());
    cq.close();
  }

  @Test
  void anAllocatorThatFailsDoesNotEndTheJvm() {
    List<Throwable> uncaught = new ArrayList<>();
    Thread thread = Thread.currentThread();
    Thread.UncaughtExceptionHandler before = thread.getUncaughtExceptionHandler();
    thread.setUncaughtExceptionHandler((t, e) -> uncaught.add(e));
    try {
      pd.parentDomain()
          .allocator(
              new ProviderAllocator() {
                @Override
                public MemorySegment allocate(long size, long alignment, long resource) {
                  return arena.allocate(1);
                }

                @Override
                public void free(MemorySegment memory, long resource) {}
              })
          .create();
      MemorySegment none = MemorySegment.NULL;
      MemorySegment alloc = ibv_parent_domain_init_attr.alloc(played.attr);
      assertEquals(
          0, ibv_parent_domain_init_attr.alloc.invoke(alloc, none, none, 64, 8, 7).address());
      ibv_parent_domain_init_attr.free.invoke(
          ibv_parent_domain_init_attr.free(played.attr), none, none, none, 7);
      assertEquals(2, uncaught.size(), "too little memory, and memory that was never given");
    } finally {
      thread.setUncaughtExceptionHandler(before);
    }
  }

  @Test
  void completionQueuesAreModeratedAndFlagged() {
    CompletionQueue cq =
        context.completionQueue(4).singleThreaded().ignoreOverrun().vector(0).create();
    assertEquals(3, ibv_cq_init_attr_ex.flags(played.attr));
    assertEquals(1, ibv_cq_init_attr_ex.comp_mask(played.attr));
    assertEquals(4, ibv_cq_init_attr_ex.cqe(played.attr));
    cq.moderate(0xffff, Duration.ofNanos(65_535_000));
    MemorySegment moderate = ibv_modify_cq_attr.moderate(played.attr);
    assertEquals(1, ibv_modify_cq_attr.attr_mask(played.attr));
    assertEquals(-1, ibv_moderate_cq.cq_count(moderate));
    assertEquals(-1, ibv_moderate_cq.cq_period(moderate));
  }

  @Test
  void everyFieldOfAnExtendedQueueIsItsOwnBit() {
    long all = Flags.mask(CompletionField.values());
    assertEquals(rdma_h.IBV_CREATE_CQ_SUP_WC_FLAGS(), all);
    assertEquals(CompletionField.values().length, Long.bitCount(all));
  }

  @Test
  void workQueuesReceive() {
    CompletionQueue cq = context.createCompletionQueue(4);
    WorkQueue queue =
        pd.workQueue()
            .completions(cq)
            .capacity(8, 2)
            .flags(WorkQueueFlag.STRIP_VLAN, WorkQueueFlag.SCATTER_FCS)
            .create();
    assertEquals(cq.segment().address(), ibv_wq_init_attr.cq(played.attr).address());
    assertEquals(pd.segment().address(), ibv_wq_init_attr.pd(played.attr).address());
    assertEquals(3, ibv_wq_init_attr.create_flags(played.attr));
    assertEquals(9, queue.maxRequests());
    assertEquals(2, queue.maxEntries());
    assertEquals(5, queue.number());
    assertSame(WorkQueueState.RESET, queue.state());
    queue.modify(WorkQueueState.READY);
    assertSame(WorkQueueState.READY, queue.state());
    assertThrows(IllegalArgumentException.class, () -> queue.modify(WorkQueueState.UNKNOWN));
    queue.modify(Set.of(WorkQueueFlag.DELAY_DROP), Set.of(WorkQueueFlag.STRIP_VLAN));
    assertEquals(4, ibv_wq_attr.flags(played.attr));
    assertEquals(5, ibv_wq_attr.flags_mask(played.attr));
    assertThrows(
        IllegalArgumentException.class,
        () -> queue.modify(Set.of(WorkQueueFlag.DELAY_DROP), Set.of(WorkQueueFlag.DELAY_DROP)));
    MemoryRegion region = pd.registerMemory(arena.allocate(64), AccessFlag.LOCAL_WRITE);
    ReceiveList list = new ReceiveList(2, 1);
    list.local(0, region, 0, 32);
    list.local(1, region, 32, 32);
    assertEquals(2, queue.post(list));
    assertEquals(queue.segment().address(), played.arguments[0]);
    assertThrows(IllegalArgumentException.class, () -> queue.post(tooManyEntries(region)));
    queue.close();
    assertThrows(IllegalStateException.class, () -> queue.post(list));
  }

  private static ReceiveList tooManyEntries(MemoryRegion region) {
    ReceiveList list = new ReceiveList(1, 3);
    for (int i = 0; i < 3; i++) {
      list.local(0, i, region, 0, 1);
    }
    return list;
  }

  @Test
  void tablesSpreadOverQueues() {
    CompletionQueue cq = context.createCompletionQueue(4);
    WorkQueue first = pd.workQueue().completions(cq).create();
    WorkQueue second = pd.workQueue().completions(cq).create();
    ReceiveIndirectionTable table =
        context.createReceiveIndirectionTable(List.of(first, second, first, first));
    long a = first.segment().address();
    long b = second.segment().address();
    assertArrayEquals(new long[] {a, b, a, a}, played.arguments);
    assertEquals(2, ibv_rwq_ind_table_init_attr.log_ind_tbl_size(played.attr));
    assertEquals(9, table.number());
    assertThrows(
        IllegalArgumentException.class,
        () -> context.createReceiveIndirectionTable(List.of(first, second, first)));
    second.close();
    assertFalse(table.isOpen());
  }

  @Test
  void hashesAreWritten() {
    byte[] key = new byte[40];
    key[39] = 7;
    ReceiveHash hash =
        new ReceiveHash(
            ReceiveHashFunction.TOEPLITZ,
            key,
            Set.of(ReceiveHashField.SOURCE_IPV4, ReceiveHashField.DESTINATION_IPV4));
    MemorySegment conf = ibv_rx_hash_conf.allocate(arena);
    hash.writeTo(conf, arena);
    assertEquals(1, ibv_rx_hash_conf.rx_hash_function(conf));
    assertEquals(40, ibv_rx_hash_conf.rx_hash_key_len(conf));
    assertEquals(3, ibv_rx_hash_conf.rx_hash_fields_mask(conf));
    assertEquals(
        7, ibv_rx_hash_conf.rx_hash_key(conf).reinterpret(40).get(ValueLayout.JAVA_BYTE, 39));
    assertThrows(
        IllegalArgumentException.class,
        () -> new ReceiveHash(ReceiveHashFunction.TOEPLITZ, new byte[256], Set.of()));
  }

  @Test
  void flowCountersAreAttachedAndRead() {
    FlowCounters counters = context.createFlowCounters();
    counters.attach(FlowCounters.Counted.BYTES, 1);
    assertEquals(1, ibv_counter_attach_attr.counter_desc(played.attr));
    assertEquals(1, ibv_counter_attach_attr.index(played.attr));
    assertArrayEquals(new long[] {0}, played.arguments);
    assertArrayEquals(new long[] {100, 101}, counters.read(2));
    assertArrayEquals(new long[] {0}, played.arguments);
    assertArrayEquals(new long[] {100}, counters.readCached(1));
    assertArrayEquals(new long[] {1}, played.arguments);
    assertThrows(IllegalArgumentException.class, () -> counters.read(0));
    assertThrows(
        IllegalArgumentException.class, () -> counters.attach(FlowCounters.Counted.PACKETS, -1));
  }

  @Test
  void completionCountersCount() {
    var caps = context.completionCounterCapabilities();
    assertEquals(8, caps.maxCounters());
    assertEquals(
        Set.of(CompletionCounter.Operation.SEND, CompletionCounter.Operation.REMOTE_WRITE),
        caps.operations());
    CompletionCounter counter = context.createCompletionCounter(CompletionCounter.Type.BYTES);
    assertSame(CompletionCounter.Type.BYTES, counter.type());
    counter.value(10);
    counter.add(5);
    counter.errors(1);
    counter.addErrors(2);
    assertEquals(15, counter.value());
    assertEquals(3, counter.errors());
    CompletionQueue cq = context.createCompletionQueue(1);
    QueuePair qp = pd.queuePair(QueuePairType.RC).completions(cq).create();
    counter.attach(qp, CompletionCounter.Operation.SEND, CompletionCounter.Operation.RECEIVE);
    assertEquals(3, ibv_qp_attach_comp_cntr_attr.op_mask(played.attr));
  }
}
