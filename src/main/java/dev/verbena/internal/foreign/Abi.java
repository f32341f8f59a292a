package dev.verbena.internal.foreign;

import dev.verbena.raw.pthread_mutex_t;
import java.lang.foreign.GroupLayout;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.PaddingLayout;
import java.lang.foreign.StructLayout;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The offsets of fields in C structs on this host.
 *
 * <p>{@code dev.verbena.raw} contains the layouts of x86-64. One of the types that verbs structs
 * consist of has another size elsewhere: {@code pthread_mutex_t}, with 48 bytes on aarch64 with
 * glibc instead of 40. It moves the following fields in {@code ibv_context}, {@code ibv_cq}, {@code
 * ibv_qp}, {@code ibv_srq} and {@code ibv_wq}, and in structs that begin with these. Offsets in
 * such structs are computed by this class; for all others, those of raw are correct on each
 * platform.
 */
public enum Abi {
  /** x86-64, and platforms with the same layouts, such as aarch64 with musl. */
  X86_64(pthread_mutex_t.layout()),

  /** aarch64 with glibc. */
  AARCH64(
      MemoryLayout.unionLayout(
              MemoryLayout.sequenceLayout(48, ValueLayout.JAVA_BYTE).withName("__size"),
              ValueLayout.JAVA_LONG.withName("__align"))
          .withName("pthread_mutex_t"));

  private static final MemoryLayout RAW_MUTEX = pthread_mutex_t.layout().withoutName();

  private static final Abi CURRENT = of(Platform.current(), Abi::hasGlibc);

  private final GroupLayout mutex;
  private final Map<Field, Long> offsets = new ConcurrentHashMap<>();

  Abi(GroupLayout mutex) {
    this.mutex = mutex;
  }

  /**
   * Returns the ABI of this host. Where verbs are not supported this is {@link #X86_64}, so that
   * code which only uses memory runs on any platform.
   *
   * @return the ABI whose offsets apply
   */
  public static Abi current() {
    return CURRENT;
  }

  static Abi of(Platform platform, BooleanSupplier glibc) {
    return platform.isLinux() && platform.isAarch64() && glibc.getAsBoolean() ? AARCH64 : X86_64;
  }

  private static boolean hasGlibc() {
    return Libc.findOrNull("gnu_get_libc_version").address() != 0;
  }

  /**
   * Returns the size of a struct.
   *
   * @param raw the layout of a class of {@code dev.verbena.raw}
   * @return its size in bytes with this ABI
   */
  public long sizeOf(GroupLayout raw) {
    return layout(raw).byteSize();
  }

  /**
   * Returns the offset of a field, like C's {@code offsetof}.
   *
   * @param raw the layout of a class of {@code dev.verbena.raw}
   * @param field the field's name, or the names of a nested one joined by dots, as C writes them:
   *     members of anonymous structs and unions go by their own name
   * @return its offset in bytes with this ABI
   * @throws IllegalArgumentException if there is no such field
   */
  public long offsetOf(GroupLayout raw, String field) {
    long offset = offset(raw, field);
    if (offset < 0) {
      throw new IllegalArgumentException(
          raw.name().orElse("the struct") + " has no field " + field);
    }
    return offset;
  }

  /** Returns whether a struct has a field, named as in {@link #offsetOf}. */
  public boolean hasField(GroupLayout raw, String field) {
    return offset(raw, field) >= 0;
  }

  private long offset(GroupLayout raw, String field) {
    Field wanted = new Field(raw, field);
    Long known = offsets.get(wanted); // Without a lock.
    return known == null ? offsets.computeIfAbsent(wanted, this::find) : known;
  }

  private long find(Field wanted) {
    long offset = 0;
    MemoryLayout at = layout(wanted.raw());
    for (String name : wanted.name().split("\\.", -1)) {
      Member member = at instanceof GroupLayout group ? find(group, name) : null;
      if (member == null) {
        return -1;
      }
      offset += member.offset();
      at = member.layout();
    }
    return offset;
  }

  /**
   * Returns the layout of a struct with this ABI.
   *
   * @param raw the layout of a class of {@code dev.verbena.raw}
   * @return {@code raw} itself if it contains no mutex or the ABI has the same mutex; otherwise the
   *     layout with the mutex replaced and the following members moved as a C compiler does
   */
  public GroupLayout layout(GroupLayout raw) {
    return equals(X86_64) ? raw : (GroupLayout) relaid(raw);
  }

  private MemoryLayout relaid(MemoryLayout raw) {
    if (raw.withoutName().equals(RAW_MUTEX)) {
      return raw.name().map(mutex::withName).orElseGet(mutex::withoutName);
    }
    if (!(raw instanceof StructLayout struct)) {
      return raw; // No union and no array contains a mutex.
    }
    List<MemoryLayout> members = struct.memberLayouts().stream().map(this::relaid).toList();
    if (members.equals(struct.memberLayouts())) {
      return raw;
    }
    StructLayout relaid = struct(members);
    return raw.name().map(relaid::withName).orElse(relaid);
  }

  /** Returns a struct of members, each at its alignment, padded to the largest one. */
  private static StructLayout struct(List<MemoryLayout> members) {
    List<MemoryLayout> padded = new ArrayList<>();
    long size = 0;
    long alignment = 1;
    for (MemoryLayout member : members) {
      if (member instanceof PaddingLayout) {
        continue;
      }
      size = pad(padded, size, member.byteAlignment()) + member.byteSize();
      padded.add(member);
      alignment = Math.max(alignment, member.byteAlignment());
    }
    pad(padded, size, alignment);
    return MemoryLayout.structLayout(padded.toArray(MemoryLayout[]::new));
  }

  private static long pad(List<MemoryLayout> members, long size, long alignment) {
    long aligned = Math.ceilDiv(size, alignment) * alignment;
    if (aligned > size) {
      members.add(MemoryLayout.paddingLayout(aligned - size));
    }
    return aligned;
  }

  private record Member(MemoryLayout layout, long offset) {}

  /** A field of a layout, which is a constant: others that are equal to it are not the same. */
  private record Field(GroupLayout raw, String name) {
    @Override
    @SuppressWarnings("ReferenceEquality")
    public boolean equals(@Nullable Object other) {
      return other instanceof Field field && raw == field.raw && name.equals(field.name);
    }

    @Override
    public int hashCode() {
      return 31 * System.identityHashCode(raw) + name.hashCode();
    }
  }

  private static Member find(GroupLayout group, String name) {
    long offset = 0;
    for (MemoryLayout layout : group.memberLayouts()) {
      if (layout.name().filter(name::equals).isPresent()) {
        return new Member(layout, offset);
      }
      if (layout instanceof GroupLayout anonymous && isAnonymous(anonymous)) {
        Member inner = find(anonymous, name);
        if (inner != null) {
          return new Member(inner.layout(), offset + inner.offset());
        }
      }
      if (group instanceof StructLayout) {
        offset += layout.byteSize();
      }
    }
    return null;
  }

  /**
   * Returns whether the member is anonymous in C: jextract then names it after its position in the
   * header.
   */
  private static boolean isAnonymous(GroupLayout member) {
    return member.name().filter(name -> name.startsWith("$anon$")).isPresent();
  }
}
