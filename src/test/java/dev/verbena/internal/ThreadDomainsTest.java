package dev.verbena.internal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.Errno;
import dev.verbena.VerbsException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/** Which thread domain each queue pair gets, with fakes of the functions of libibverbs. */
class ThreadDomainsTest {
  private static final long SHARED = 1;

  private final Fakes fakes = new Fakes();
  private final ThreadDomains domains = new ThreadDomains(fakes);

  /** Thread domains are numbered from 1, parent domains from 1001. */
  private static final class Fakes implements ThreadDomains.Calls {
    final Set<Long> allocated = new TreeSet<>();

    /** The thread domain of each parent domain. */
    final Map<Long, Long> parents = new HashMap<>();

    int allocations;
    int limit = Integer.MAX_VALUE;
    boolean isBusy;
    boolean isHeapFull;

    @Override
    public long allocate() {
      if (allocations == limit) {
        throw new VerbsException("ibv_alloc_td", Errno.ENOMEM);
      }
      allocated.add((long) ++allocations);
      return allocations;
    }

    @Override
    public void deallocate(long threadDomain) {
      requireFree();
      assertFalse(parents.containsValue(threadDomain), "a parent domain still has it");
      assertTrue(allocated.remove(threadDomain), "deallocated twice");
    }

    @Override
    public void deallocateParent(long parentDomain) {
      requireFree();
      assertTrue(parents.remove(parentDomain) != null, "deallocated twice");
    }

    private void requireFree() {
      if (isHeapFull) {
        throw new OutOfMemoryError("of a test");
      }
      if (isBusy) {
        throw new VerbsException("ibv_dealloc", Errno.EBUSY);
      }
    }

    long parent(long threadDomain) {
      assertTrue(allocated.contains(threadDomain));
      long parent = 1001L + parents.size();
      while (parents.containsKey(parent)) {
        parent++;
      }
      parents.put(parent, threadDomain);
      return parent;
    }
  }

  private ThreadDomains.Place place() {
    return domains.place(fakes::parent);
  }

  private long threadDomain(ThreadDomains.Place place) {
    return fakes.parents.get(place.domain());
  }

  @Test
  void sharedDomainIsAllocatedFirst() {
    ThreadDomains.Place place = place();
    assertEquals(Set.of(SHARED, SHARED + 1), fakes.allocated);
    assertEquals(SHARED + 1, threadDomain(place));
    assertTrue(place.ownsRegister());
  }

  @Test
  void eachPlaceHasADomainOfItsOwnUntilThereAreNoMore() {
    Set<Long> used = new TreeSet<>();
    for (int i = 0; i < ThreadDomains.OWN; i++) {
      ThreadDomains.Place place = place();
      assertTrue(place.ownsRegister());
      assertTrue(used.add(threadDomain(place)));
    }
    assertFalse(used.contains(SHARED));
    for (int i = 0; i < 2; i++) {
      ThreadDomains.Place place = place();
      assertFalse(place.ownsRegister());
      assertEquals(SHARED, threadDomain(place));
    }
    assertEquals(1 + ThreadDomains.OWN, fakes.allocations);
  }

  @Test
  void domainOfAClosedPlaceIsUsedAgain() {
    List<ThreadDomains.Place> places = new ArrayList<>();
    for (int i = 0; i <= ThreadDomains.OWN; i++) {
      places.add(place());
    }
    long freed = threadDomain(places.get(3));
    places.get(3).close();
    ThreadDomains.Place next = place();
    assertEquals(freed, threadDomain(next));
    assertTrue(next.ownsRegister());
    assertFalse(place().ownsRegister());
  }

  @Test
  void placeForWhichThereWasNoMemoryIsClosedAgain() {
    ThreadDomains.Place place = place();
    ThreadDomains.Place other = place();
    long freed = threadDomain(place);
    fakes.isHeapFull = true;
    place.close(); // The queue pair does not exist any more: nothing may be thrown.
    other.close();
    domains.closeAgain();
    assertEquals(2, fakes.parents.size());
    fakes.isHeapFull = false;
    domains.closeAgain();
    assertTrue(fakes.parents.isEmpty());
    Set<Long> used = new TreeSet<>();
    for (int i = 0; i < 2; i++) {
      used.add(threadDomain(place()));
    }
    assertTrue(used.contains(freed));
    assertEquals(3, fakes.allocations);
  }

  @Test
  void placeIsClosedOnce() {
    ThreadDomains.Place place = place();
    ThreadDomains.Place other = place();
    place.close();
    place.close();
    assertEquals(1, fakes.parents.size());
    assertNotEquals(threadDomain(other), threadDomain(place()));
    assertNotEquals(threadDomain(other), threadDomain(place()), "free twice");
  }

  @Test
  void sharedDomainIsUsedIfNoOtherCanBeAllocated() {
    fakes.limit = 2;
    assertTrue(place().ownsRegister());
    ThreadDomains.Place second = place();
    assertFalse(second.ownsRegister());
    assertEquals(SHARED, threadDomain(second));
    second.close();
    fakes.limit = 3;
    assertTrue(place().ownsRegister());
  }

  @Test
  void failsIfThereIsNoDomainAtAll() {
    fakes.limit = 0;
    assertEquals(Errno.ENOMEM, assertThrows(VerbsException.class, this::place).errno());
    assertEquals(Map.of(), fakes.parents);
  }

  @Test
  void domainIsFreeIfItsParentDomainCannotBeCreated() {
    VerbsException failure = new VerbsException("ibv_alloc_parent_domain", Errno.ENOMEM);
    VerbsException thrown =
        assertThrows(
            VerbsException.class,
            () ->
                domains.place(
                    threadDomain -> {
                      throw failure;
                    }));
    assertSame(failure, thrown);
    assertEquals(SHARED + 1, threadDomain(place()));
    assertEquals(2, fakes.allocations);
  }

  /** Its register may still be written to. */
  @Test
  void domainIsNotUsedAgainIfItsParentDomainIsBusy() {
    ThreadDomains.Place place = place();
    fakes.isBusy = true;
    place.close();
    fakes.isBusy = false;
    assertNotEquals(SHARED + 1, threadDomain(place()));
  }

  @Test
  void closeDeallocatesAll() {
    ThreadDomains.Place first = place();
    ThreadDomains.Place second = place();
    first.close();
    second.close();
    domains.close();
    assertEquals(Set.of(), fakes.allocated);
    domains.close();
    assertTrue(place().ownsRegister());
    assertEquals(2, fakes.allocated.size());
  }

  @Test
  void closeLeavesWhatCannotBeDeallocated() {
    place().close();
    fakes.isBusy = true;
    domains.close();
    assertEquals(2, fakes.allocated.size());
  }
}
