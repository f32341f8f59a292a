package dev.verbena.verbs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import dev.verbena.fake.FakeProvider;
import dev.verbena.internal.foreign.Abi;
import dev.verbena.internal.foreign.Memory;
import dev.verbena.raw.ibv_mr;
import java.lang.foreign.Arena;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.TestInfo;

/**
 * What Soft-RoCE does not have, against a fake: the native calls, and their results. The device in
 * memory plays what it can; a test's own public methods, named like C's functions, play the rest.
 */
abstract class FakeDeviceFixture {
  final Arena arena = Arena.ofShared();
  FakeProvider provider;
  Context context;
  ProtectionDomain pd;

  /** A copy of the struct that a function was given last. */
  MemorySegment attr;

  /** What else it was given. */
  long[] arguments;

  /** How many objects were made and not given back. */
  private int live;

  /** Not in a device test: the function pointers of a fake take seconds in a guest. */
  @BeforeEach
  void open(TestInfo test) {
    if (test.getTags().contains("device")) {
      return;
    }
    provider = new FakeProvider().play(this);
    context = Device.list(provider).getFirst().open();
    pd = context.allocateProtectionDomain();
  }

  @AfterEach
  void close() {
    if (provider != null) {
      context.close();
      provider.close();
    }
    arena.close();
    assertEquals(0, live, "something was not given back");
  }

  /** A C object whose first field is its context. */
  long made(GroupLayout raw, long owner) {
    live++;
    MemorySegment made = arena.allocate(Abi.current().sizeOf(raw), 8);
    made.set(ValueLayout.JAVA_LONG, 0, owner);
    return made.address();
  }

  /** A region, as C made it. */
  long region(long pd, long length) {
    MemorySegment mr = Memory.at(made(ibv_mr.layout(), Memory.getLong(pd)), ibv_mr.sizeof());
    ibv_mr.pd(mr, MemorySegment.ofAddress(pd));
    ibv_mr.length(mr, length);
    ibv_mr.lkey(mr, 0x100);
    ibv_mr.rkey(mr, 0x200);
    return mr.address();
  }

  /** Gives an object back, successfully. */
  int gone() {
    live--;
    return 0;
  }

  MemorySegment copied(long address, long size) {
    return arena.allocate(size, 8).copyFrom(Memory.at(address, size));
  }
}
