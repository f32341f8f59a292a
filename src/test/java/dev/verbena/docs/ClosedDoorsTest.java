package dev.verbena.docs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import dev.verbena.testing.ExportedPackages;
import dev.verbena.verbs.Resource;
import java.io.StringWriter;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.GenericDeclaration;
import java.lang.reflect.Member;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Members that exist only for other packages of this library are not public. */
@Tag("host")
class ClosedDoorsTest {
  private static final Set<String> EXPORTED = ExportedPackages.all();

  @Test
  void aSubclassOfResourceInAModuleDoesNotCompile(@TempDir Path classes) throws Exception {
    assertEquals("", compile(classes, "class User { dev.verbena.verbs.Resource resource; }"));
    String errors =
        compile(
            classes,
            "class Mine extends dev.verbena.verbs.Resource {"
                + " Mine(dev.verbena.internal.life.Core core) { super(core); } }");
    assertTrue(errors.contains("dev.verbena.internal.life"), errors);
  }

  private static String compile(Path classes, String source) throws Exception {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    JavaFileObject file =
        new SimpleJavaFileObject(URI.create("string:///A.java"), JavaFileObject.Kind.SOURCE) {
          @Override
          public CharSequence getCharContent(boolean ignoreEncodingErrors) {
            return source;
          }
        };
    Path library =
        Path.of(Resource.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    StringWriter errors = new StringWriter();
    List<String> options =
        List.of(
            "-proc:none",
            "--module-path",
            library.toString(),
            "--add-modules",
            "dev.verbena",
            "-d",
            classes.toString());
    compiler.getTask(errors, null, null, options, null, List.of(file)).call();
    return errors.toString();
  }

  @Test
  void failuresAreExplainedByTheLibraryAlone() throws Exception {
    List<String> methods =
        Files.readString(Path.of("src/build/public-api.txt"))
            .lines()
            .filter(line -> line.matches(".*Exception (?:explained|during)\\(.*"))
            .toList();
    assertEquals(List.of(), methods);
  }

  /** A constructor would have to change with each new field of C. */
  @Test
  void capabilitiesHaveNoPublicConstructor() throws Exception {
    String api = Files.readString(Path.of("src/build/public-api.txt"));
    List<String> constructors =
        Pattern.compile("public dev\\.verbena\\.(\\w+\\.\\w+(?:Capabilities|Interconnects))\\(")
            .matcher(api)
            .results()
            .map(found -> found.group(1))
            .toList();
    assertEquals(List.of(), constructors);
  }

  /** Other packages of the library call these; a program cannot make an argument for them. */
  @Test
  void membersWithATypeThatIsNotExportedAreHidden() throws Exception {
    Set<String> visible = new TreeSet<>();
    int hidden = 0;
    for (Class<?> type : reachable()) {
      List<Member> inner =
          members(type)
              .filter(member -> !typesOf(member).allMatch(ClosedDoorsTest::isReachable))
              .toList();
      hidden += inner.size();
      String tags = type.getEnclosingClass() == null ? "" : "  ";
      String source =
          Files.readString(
              Path.of(
                  "src/main/java",
                  type.getName().replaceFirst("\\$.*", "").replace('.', '/') + ".java"));
      if (source.lines().filter((tags + "   * @hidden")::equals).count() != inner.size()) {
        inner.forEach(member -> visible.add(type.getName() + "." + member.getName()));
      }
    }
    assertEquals(Set.of(), visible);
    assertTrue(hidden < 20, "members for other packages of the library: " + hidden);
  }

  @Test
  void everyTypeOfThePublicApiIsPublic() throws Exception {
    Set<String> hidden = new TreeSet<>();
    for (Class<?> type : reachable()) {
      Stream.of(
              bounds(type),
              Stream.ofNullable(type.getGenericSuperclass()),
              Stream.of(type.getGenericInterfaces()))
          .flatMap(types -> types)
          .flatMap(ClosedDoorsTest::classes)
          .filter(used -> !isReachable(used))
          .forEach(used -> hidden.add(type.getName() + " names " + used.getName()));
    }
    assertEquals(Set.of(), hidden);
  }

  /** The types that a program can name. */
  private static List<Class<?>> reachable() throws Exception {
    Path classes = ExportedPackages.classes();
    List<Class<?>> types = new ArrayList<>();
    for (String name : EXPORTED) {
      for (String file : classes.resolve(name.replace('.', '/')).toFile().list()) {
        if (file.endsWith(".class") && !file.equals("package-info.class")) {
          Class<?> type = Class.forName(name + "." + file.replace(".class", ""), false, loader());
          if (isReachable(type)) {
            types.add(type);
          }
        }
      }
    }
    assertTrue(types.size() > 400, "types: " + types.size());
    return types;
  }

  private static ClassLoader loader() {
    return ClosedDoorsTest.class.getClassLoader();
  }

  /** Whether a program can name a type: one of the JDK, or an exported one that is public. */
  private static boolean isReachable(Class<?> type) {
    if (type.isPrimitive() || type.getName().startsWith("java.")) {
      return true;
    }
    for (Class<?> c = type; c != null; c = c.getEnclosingClass()) {
      if (!Modifier.isPublic(c.getModifiers())) {
        return false;
      }
    }
    return EXPORTED.contains(type.getPackageName());
  }

  /** The public and protected members of a type. */
  private static Stream<Member> members(Class<?> type) {
    return Stream.<Stream<? extends Member>>of(
            Stream.of(type.getDeclaredFields()),
            Stream.of(type.getDeclaredMethods()),
            Stream.of(type.getDeclaredConstructors()))
        .<Member>flatMap(some -> some)
        .filter(ClosedDoorsTest::isVisible);
  }

  /** The types in the declaration of a member. */
  private static Stream<Class<?>> typesOf(Member member) {
    Stream<Type> types =
        switch (member) {
          case Field field -> Stream.of(field.getGenericType());
          case Executable call ->
              Stream.of(
                      bounds(call),
                      Stream.of(call.getGenericParameterTypes()),
                      Stream.of(call.getGenericExceptionTypes()),
                      Stream.of(call.getAnnotatedReturnType().getType()))
                  .flatMap(some -> some);
          default -> throw new AssertionError(member);
        };
    return types.flatMap(ClosedDoorsTest::classes);
  }

  private static boolean isVisible(Member member) {
    return !member.isSynthetic()
        && (member.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED)) != 0;
  }

  private static Stream<Type> bounds(GenericDeclaration declaration) {
    return Stream.of(declaration.getTypeParameters())
        .flatMap(parameter -> Stream.of(parameter.getBounds()));
  }

  /** The classes that a type is written with. */
  private static Stream<Class<?>> classes(Type type) {
    return switch (type) {
      case Class<?> c -> Stream.of(c.isArray() ? c.getComponentType() : c);
      case ParameterizedType p ->
          Stream.concat(Stream.of(p.getRawType()), Stream.of(p.getActualTypeArguments()))
              .flatMap(ClosedDoorsTest::classes);
      case WildcardType w ->
          Stream.concat(Stream.of(w.getUpperBounds()), Stream.of(w.getLowerBounds()))
              .flatMap(ClosedDoorsTest::classes);
      case GenericArrayType a -> classes(a.getGenericComponentType());
      default -> Stream.empty(); // A type variable: its bounds are where it is declared.
    };
  }

  @Test
  void noPublicMemberIsForSubclasses() throws Exception {
    List<String> hooks =
        Files.readString(Path.of("src/build/public-api.txt"))
            .lines()
            .filter(line -> line.startsWith("  protected ") && !line.contains("RdmaException("))
            .toList();
    assertEquals(List.of(), hooks);
  }
}
