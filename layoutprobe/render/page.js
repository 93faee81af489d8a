/* Built from page/ by `npm run build`: do not edit. */
"use strict";(()=>{var L=["A","B","C"],z="layoutprobe.kernel/1";function F(t){let e=atob(t),n=new Uint8Array(e.length);for(let r=0;r<e.length;r++)n[r]=e.charCodeAt(r);return n}function te(t){let e=new DataView(F(t).buffer);return Int32Array.from({length:e.byteLength/4},(n,r)=>e.getInt32(4*r,!0))}function P(t){let e=F(t),n=new DataView(e.buffer),r=new Float32Array(e.length/4);for(let o=0;o<r.length;o++)r[o]=n.getFloat32(4*o,!0);return r}function _(t,e){let n=F(t);return Uint8Array.from({length:e},(r,o)=>(n[o>>3]??0)>>(o&7)&1)}function l(t,e={},...n){return Ae(document.createElement(t),e,n)}function Ae(t,e,n){for(let[r,o]of Object.entries(e))o===void 0||o===!1||(typeof o=="function"?t.addEventListener(r.slice(2),o):t.setAttribute(r,o===!0?"":String(o)));return t.append(...n.filter(r=>!!r)),t}function T(t,e,n,r=""){return l("button",{type:"button","aria-pressed":String(e),title:r||void 0,onclick:n},t)}function M(t,e,n={},r=""){return l("span",{class:"entry"},l("span",{class:t,...n},r),` ${e}`)}function A(t,e,n){let r=l("div",{class:"scroll"}),o=l("details",{class:"behind"},l("summary",{},t),r);return o.addEventListener("toggle",()=>{if(!o.open||r.childElementCount)return;let a=l("tr",{},...e.map(i=>l("th",{scope:"col"},i))),s=[...n()].map(([i,...d])=>l("tr",{},l("th",{scope:"row"},i??""),...d.map(u=>l("td",{},u))));r.append(l("table",{},l("thead",{},a),l("tbody",{},...s)))}),o}function C(t){let e=getComputedStyle(t),n=new Map;return r=>{let o=n.get(r)??e.getPropertyValue(`--${r}`).trim();return n.set(r,o),o}}function ne(t){let{findings:e}=t.model.data;return l("div",{class:"findings"},...e.map((n,r)=>{let{file:o,line:a}=n.place,s=Te(t,n),i=L.find(u=>u===n.place.matrix),d=n.lines.flatMap(([u,c])=>[l("dt",{},u),l("dd",{},l("code",{},c))]);return l("div",{class:"card finding"},l("span",{class:"place"},o===void 0?"":`${o}:${a}`),l("h3",{},`Finding ${r+1} of ${e.length}: ${n.rule}`),l("p",{},n.what),l("p",{class:"go"},s&&l("button",{type:"button",onclick:()=>t.goto(s,{slot:null,...i&&{matrix:i}})},"show its slots"),o!==void 0&&a!==void 0&&l("button",{type:"button",onclick:()=>t.set({line:{file:o,line:a}})},"show its line")),l("details",{class:"behind"},l("summary",{},"in full"),l("dl",{},...d)))}))}function Te(t,e){let n=L.find(u=>u===e.place.matrix),r=new Set([e.place,...e.related.map(({place:u})=>u)].map(({pc:u})=>u)),o=[...t.model.every].flat().filter(u=>(n===void 0?u.wrong:u.operands[n]?.anyWrong)??!1),a=o.filter(u=>r.has(t.model.site(u.site)?.place.pc)),{wave:s,workgroup:i}=e.place,d=t.model.groupNumber(i);return a.find(u=>u.wave===s&&u.group===d)??a[0]??o[0]}var re=new WeakMap;function Ce(t){let e=re.get(t);if(e!==void 0)return e;let n=new Map;return t.row.forEach((r,o)=>{let a=`${r},${t.col[o]}`;r>=0&&!n.has(a)&&n.set(a,o)}),re.set(t,n),n}var K=class{constructor(e,n){this.moments=e;this.at=n}moments;at;value(e){return this.moments.rows[e][this.at]??0}layout(e){let n=this.moments.layouts[this.value(e)];if(n===void 0)throw new Error(`layout ${this.value(e)} is missing`);return n}get matrix(){return L[this.value("matrix")]??"A"}get site(){return this.value("site")}get iteration(){return this.value("iteration")}get group(){return this.value("group")}get wave(){return this.value("wave")}get product(){return this.value("product")}get axes(){return this.layout("held").axes}get bits(){return this.layout("held").bits}get slots(){return this.layout("held").row.length}element(e,n){let r=this.layout(e),o=r.row[n]??-1;if(o<0)return null;let a=[this.value(`${e}_row`),this.value(`${e}_col`)];return{row:a[0]+o,col:a[1]+(r.col[n]??0)}}held(e){return this.element("held",e)}needed(e){return this.element("needed",e)}wrong(e){return this.moments.masks[this.value("wrong")]?.charAt(e)==="1"}live(e){return this.moments.masks[this.value("live")]?.charAt(e)==="1"}get anyWrong(){return this.moments.masks[this.value("wrong")]?.includes("1")??!1}holdsTooMuch(){for(let e=0;this.anyWrong&&e<this.slots;e++)if(this.wrong(e)&&this.needed(e)===null&&this.held(e)!==null)return!0;return!1}get countWrong(){return[...this.moments.masks[this.value("wrong")]??""].filter(e=>e==="1").length}slotHolding(e){let[n,r]=[e.row-this.value("held_row"),e.col-this.value("held_col")];return n<0||r<0?-1:Ce(this.layout("held")).get(`${n},${r}`)??-1}slot(e){let[,n,r]=this.axes,o=Math.floor(e/r);return{matrix:this.matrix,lane:Math.floor(o/n),vgpr:o%n,field:e%r}}flat(e){let[,n,r]=this.axes;return(e.lane*n+e.vgpr)*r+e.field}},D=(t,e)=>`${t}/${e}`,W=class{constructor(e){this.data=e;let{rows:n,groups:r}=e.moments,o=new Map;for(let a=0;a<n.group.length;a++){let s=`${n.group[a]}/${n.wave[a]}/${n.turn[a]}`,i=new K(e.moments,a),d=o.get(s)??{operands:{},turn:n.turn[a]};d.operands[i.matrix]=i,o.set(s,d)}for(let{operands:a,turn:s}of o.values()){let i=a.A??a.B??a.C;if(i===void 0)continue;let{group:d,wave:u,site:c,iteration:m}=i,h=L.some(p=>a[p]?.anyWrong),g={group:d,wave:u,site:c,iteration:m,turn:s,operands:a,wrong:h},b=this.byWave.get(D(d,u));b===void 0?this.byWave.set(D(d,u),[g]):b.push(g)}for(let a of this.byWave.values())a.sort((s,i)=>s.turn-i.turn);this.waves=r.map((a,s)=>[...this.byWave.values()].flatMap(d=>d[0]?.group===s?[d[0].wave]:[]).sort((d,u)=>d-u));for(let{site:a,matrix:s,kind:i,first:d,count:u}of e.moments.registers)this.registers.set(`${a}/${s}`,{kind:i,first:d,count:u})}data;byWave=new Map;registers=new Map;waves;steps(e,n){return this.byWave.get(D(e,n))??[]}get every(){return this.byWave.values()}site(e){return this.data.sites[e]}register(e,n,r,o){let a=this.registers.get(`${e}/${n}`),s=a?.kind==="AccVGPR"?"a":"v",i=(a?.first??0)+r*Math.max(1,o/32);return o>32?`${s}[${i}:${i+1}]`:`${s}${i}`}groupName(e){return`(${(this.data.moments.groups[e]??[]).join(", ")})`}groupNumber(e){return this.data.moments.groups.findIndex(n=>e?.every((r,o)=>r===n[o])??!1)}makers(e,n){let r=new Map;for(let o of this.byWave.values())for(let a of o){let s=a.operands.C;if(s===void 0||s.product!==n)continue;let i=s.slotHolding(e);if(i<0)continue;let d=s.slot(i),u=this.registers.get(`${a.site}/C`),c=`${D(a.group,a.wave)}/${u?.kind}${u?.first}/${i}`,m=r.get(c)??{steps:[],slot:d,belongs:s.needed(i)};m.steps.push(a),r.set(c,m)}return[...r.values()]}beyond(e){return e.steps.filter(({operands:{A:n,B:r}})=>[n,r].every(o=>o?.holdsTooMuch()))}contributions(e,n){let r=e.belongs??n;return e.steps.flatMap(o=>{let{A:a,B:s}=o.operands;if(a===void 0||s===void 0)return[];let i=new Map(oe(s,d=>d.col===r.col).map(([d,u])=>[u.row,d]));return oe(a,d=>d.row===r.row).flatMap(([d,u])=>{let c=i.get(u.col);return c===void 0?[]:{step:o,k:u.col,a:a.slot(d),b:s.slot(c),heldA:a.held(d),heldB:s.held(c),right:!a.wrong(d)&&!s.wrong(c)}})})}};function oe(t,e){let n=new Map;for(let r=0;r<t.slots;r++){let o=t.needed(r);if(o===null||!t.live(r)||!e(o))continue;let a=t.matrix==="A"?o.col:o.row;n.has(a)||n.set(a,[r,o])}return[...n.values()].sort((r,o)=>r[0]-o[0])}function j(t,e,n){return e===1?"":e===2?t===0?"lo":"hi":`${(t+1)*n-1}:${t*n}`}function S(t,e){return e===null?"no element":`${t}[${e.row}][${e.col}]`}var Oe=[["both","held beside needed"],["held","held"],["needed","needed"]];function se(t){let e=l("div",{class:"choices",role:"group","aria-label":"matrix"}),n=l("div",{class:"choices",role:"group","aria-label":"what is shown"}),r=l("div",{class:"scroll fragment"}),o=l("h2",{}),a=l("p",{class:"says","aria-live":"polite"}),s=l("p",{class:"legend"});return t.watch(()=>{let{state:i}=t;e.replaceChildren(...L.map(u=>{let c=T(u,u===i.matrix,()=>t.set({matrix:u,slot:null}));return c.classList.toggle("bad",t.step?.operands[u]?.anyWrong??!1),c})),n.replaceChildren(...Oe.map(([u,c])=>T(c,u===i.shown,()=>t.set({shown:u}))));let d=t.step?.operands[i.matrix];if(o.textContent=`Operand ${i.matrix}`,d===void 0){r.replaceChildren(l("p",{},t.model.site(t.step?.site??-1)?.lost||"not followed"));return}o.textContent+=` in ${Re(t,d)}`,De(t,d,r),a.replaceChildren(...Be(t,d,i.slot)),s.replaceChildren(...ze(d,i.matrix))}),l("section",{class:"operand panel","aria-label":"operand"},l("header",{},o,e,n),a,r,s)}function Re(t,e){let n=e.axes[1]-1,r=o=>t.model.register(e.site,e.matrix,o,e.bits);return n>0?`${r(0)} to ${r(n)}`:r(0)}function Ne(t){let e=new Set;for(let n=0;n<t.slots;n++)for(let r of[t.held(n),t.needed(n)])r!==null&&e.add(le(t.matrix,r));return new Map([...e].sort((n,r)=>n-r).map((n,r)=>[n,r]))}var le=(t,e)=>t==="B"?e.col:e.row;function De(t,e,n){let{state:r}=t,[o,a,s]=e.axes,i=Ne(e),d=r.slot?.matrix===e.matrix?e.flat(r.slot):-1,u=d<0?null:e.held(d),c=l("table",{role:"grid","aria-label":`operand ${e.matrix}, lanes by registers`,onkeydown:g=>Ie(t,e,g),onclick:g=>{let b=g.target.closest("td");b?.dataset.slot!==void 0&&t.set({slot:e.slot(Number(b.dataset.slot))})}});c.append(We(t,e));let m=l("tbody");for(let g=0;g<o;g++){let b=l("tr",{},l("th",{scope:"row"},String(g)));for(let p=0;p<a*s;p++){let f=g*a*s+p,y=He(e,f,r.shown,i);y.tabIndex=f===Math.max(d,0)?0:-1,s>1&&p%s===0&&y.classList.add("first");let x=e.held(f);u!==null&&x?.row===u.row&&x.col===u.col&&y.classList.add("same"),f===d&&y.classList.add("chosen"),y.setAttribute("aria-selected",String(f===d)),b.append(y)}m.append(b)}c.append(m);let h=n.contains(document.activeElement);n.replaceChildren(c),h&&c.querySelector("td[tabindex='0']")?.focus({preventScroll:!1})}function We(t,e){let[,n,r]=e.axes,o=Array.from({length:n},(i,d)=>l("th",{scope:"colgroup",colspan:r},t.model.register(e.site,e.matrix,d,e.bits))),a=l("tr",{},l("th",{scope:"col",rowspan:r>1?2:1},"lane"),...o);if(r===1)return l("thead",{},a);let s=o.flatMap(()=>Array.from({length:r},(i,d)=>l("th",{scope:"col"},j(d,r,e.bits))));return l("thead",{},a,l("tr",{},...s))}function He(t,e,n,r){let o=t.held(e),a=t.needed(e),s=t.wrong(e),i=n==="needed"?a:o,d=l("td",{"data-slot":e},ae(i));if(i!==null){let c=r.get(le(t.matrix,i))??0;d.style.setProperty("--hue",`${c/Math.max(r.size,1)}turn`),d.classList.add(c%2===0?"even":"odd")}s&&n!=="needed"&&(d.classList.add("wrong"),n==="both"&&d.append(l("small",{},ae(a)))),t.live(e)||d.classList.add("dead");let u=[`lane ${t.slot(e).lane}`,S(t.matrix,o)];return s&&u.push(`wrong, needs ${S(t.matrix,a)}`),t.live(e)||u.push("no output reads it"),d.title=u.join(", "),d.setAttribute("aria-label",u.slice(1).join(", ")),d}var ae=t=>t===null?"\xB7":`${t.row},${t.col}`;function Ie(t,e,n){let[r,o,a]=e.axes,s=o*a,i={ArrowLeft:-1,ArrowRight:1,ArrowUp:-s,ArrowDown:s}[n.key],d=n.target.closest("td");if(i===void 0||d?.dataset.slot===void 0)return;n.preventDefault();let u=Number(d.dataset.slot)+i;u>=0&&u<r*s&&t.set({slot:e.slot(u)})}function Be(t,e,n){if(n===null||n.matrix!==e.matrix)return[e.anyWrong?l("span",{class:"bad-text"},`\u2717 ${e.countWrong} of ${e.slots} slots are wrong`):l("span",{class:"good-text"},"\u2713 every slot holds what is needed"),". Choose a slot to see where else its element is."];let r=e.flat(n),{matrix:o}=e,a=j(n.field,e.axes[2],e.bits),s=t.model.register(e.site,o,n.vgpr,e.bits)+(a&&`.${a}`),i=e.held(r),d=o==="C"?"is stored to":"holds",u=[l("b",{},`lane ${n.lane}, ${s}`),` ${d} `];u.push(l("code",{},S(o,i))),e.wrong(r)&&u.push(", needs ",l("code",{class:"good-text"},S(o,e.needed(r)))),e.live(r)||u.push(" (no output reads it)");let c=Ve(e,r);c.length>0&&u.push(`; also in ${c.join(", ")}`);let m=o==="C"?e.needed(r)??i:null;if(m!==null){let h=()=>t.set({element:{...m,product:e.product}});u.push(" ",l("button",{type:"button",onclick:h},"its sum over k"))}return u}function Ve(t,e){let n=t.held(e);if(n===null)return[];let r=[];for(let o=0;o<t.slots&&r.length<8;o++){let a=t.held(o);o!==e&&a?.row===n.row&&a.col===n.col&&r.push(`lane ${t.slot(o).lane}`)}return r}function ze(t,e){let r=[`One colour for each ${{A:"row of A",B:"column of B",C:"row of C"}[e]}; 3,5 is ${e}[3][5]. `];return t.anyWrong&&r.push(l("span",{class:"key wrong"},"3,5")," wrong, and below what is needed. "),r.push(l("span",{class:"key dead"},"3,5")," a copy that no output reads."),r}function ie(t){let{model:e}=t,n=l("select",{id:"group",onchange:()=>{let m=Number(n.value);t.set({group:m,wave:e.waves[m]?.[0]??0,slot:null})}});n.append(...e.data.moments.groups.map((m,h)=>l("option",{value:h},e.groupName(h))));let r=l("div",{class:"choices",role:"group","aria-label":"wave"}),o=l("input",{type:"range",id:"step",min:0,step:1,oninput:()=>t.set({step:Number(o.value),slot:null})}),a=m=>()=>t.set({step:t.state.step+m,slot:null}),s=l("button",{type:"button",onclick:a(-1),"aria-label":"one step back"},"\u25C0"),i=l("button",{type:"button",onclick:a(1),"aria-label":"one step on"},"\u25B6"),d=l("button",{type:"button",id:"next-wrong",onclick:()=>G(t)},"next wrong"),u=l("p",{class:"says","aria-live":"polite"});t.watch(()=>{let{group:m,wave:h,step:g}=t.state;n.value=String(m),r.replaceChildren(...(e.waves[m]??[]).map(p=>{let f=e.steps(m,p).some(w=>w.wrong),y=()=>t.set({wave:p,slot:null}),x=T(String(p),p===h,y,f?`wave ${p}: wrong operands`:`wave ${p}`);return x.classList.toggle("bad",f),x})),o.max=String(Math.max(t.steps.length-1,0)),o.value=String(g),s.disabled=g===0,i.disabled=g>=t.steps.length-1;let b=t.step;o.setAttribute("aria-valuetext",b?Fe(t,b):"nothing was executed"),u.replaceChildren(...b?Pe(t,b):["no matrix instruction was executed"]),d.disabled=t.nextWrong()===void 0});let c=e.data.moments.leftOut;return l("section",{class:"moment","aria-label":"moment"},l("label",{for:"group"},"workgroup"),n,c>0&&l("small",{},`${c} more are left out: --workgroup X,Y,Z`),l("span",{class:"label"},"wave"),r,l("div",{class:"slide"},s,l("label",{for:"step",class:"hidden"},"step"),o,i,d),u)}function G(t){let e=t.nextWrong(),n=["A","B","C"].find(r=>e?.operands[r]?.anyWrong);e!==void 0&&t.goto(e,{slot:null,...n&&{matrix:n}})}function Fe(t,e){let n=t.model.site(e.site);return`matrix instruction ${e.site}, ${n?.title??""}, execution ${e.iteration}`}function Pe(t,e){let n=t.model.site(e.site),o=Object.entries(e.operands).filter(([,a])=>a.anyWrong).map(([a,s])=>`${a}: ${s.countWrong} of ${s.slots} slots`);return[l("b",{},`step ${t.state.step+1} of ${t.steps.length}`),` matrix instruction ${e.site}, `,l("code",{},n?.title??""),`, execution ${e.iteration} `,o.length>0?l("span",{class:"bad-text"},`\u2717 wrong: ${o.join("; ")}`):l("span",{class:"good-text"},"\u2713 operands are right")]}var ue=[[",","one step back",t=>t.set({step:t.state.step-1,slot:null})],[".","one step on",t=>t.set({step:t.state.step+1,slot:null})],["n","next wrong operand",G],["[","wave before",t=>de(t,-1)],["]","next wave",t=>de(t,1)],["a","operand A",t=>t.set({matrix:"A",slot:null})],["b","operand B",t=>t.set({matrix:"B",slot:null})],["c","operand C",t=>t.set({matrix:"C",slot:null})]];function de(t,e){let n=t.model.waves[t.state.group]??[],r=n[n.indexOf(t.state.wave)+e];r!==void 0&&t.set({wave:r,slot:null})}function ce(t){document.addEventListener("keydown",e=>{let n=e.target;if(e.ctrlKey||e.metaKey||e.altKey||n.matches("input:not([type=range]), select, textarea"))return;let r=ue.find(([o])=>o===e.key);r!==void 0&&(e.preventDefault(),r[2](t))})}function me(){let t=ue.flatMap(([n,r])=>[l("dt",{},l("kbd",{},n)),l("dd",{},r)]),e=[l("dt",{},l("kbd",{},"arrows")),l("dd",{},"slots of an operand, elements of the map")];return l("details",{class:"behind"},l("summary",{},"Keys"),l("dl",{},...t,...e))}var H=class{constructor(e,n){this.data=e;this.group=n;this.events=e.row.flatMap((r,o)=>{let a=e.code[e.inst[o]??-1];return a===void 0?[]:[{row:r,wave:e.wave[o]??0,code:a}]});for(let r of this.events){this.byRow.set(r.row,r);let o=this.byWave.get(r.wave);o===void 0?this.byWave.set(r.wave,[r]):o.push(r)}this.waves=[...this.byWave.keys()].sort((r,o)=>r-o)}data;group;events;waves;byWave=new Map;byRow=new Map;ofMatrix=new Map;shows(e){return e===this.group}of(e){return this.byWave.get(e)??[]}at(e){return this.byRow.get(e)}matrices(e){let n=this.ofMatrix.get(e)??this.of(e).filter(({code:r})=>r.kind==="matrix");return this.ofMatrix.set(e,n),n}rowOf(e,n){return this.matrices(e)[n]?.row??null}turnAt(e,n){return Math.max(this.matrices(e).filter(r=>r.row<=n).length-1,0)}nearest(e,n){return this.of(e).reduce((r,o)=>r&&Math.abs(r.row-n)<=Math.abs(o.row-n)?r:o,void 0)}races(e){return e.flatMap(n=>{if(!n.rule.startsWith("races/"))return[];let[r,...o]=[n.place,...n.related.map(({place:a})=>a)];for(let a of o){let s=r===void 0?null:this.race(n.what,r,a);if(s!==null)return[s]}return[]})}race(e,n,r){let o=i=>i.workgroup?.every((d,u)=>d===this.data.group[u])??!0;if(n.wave===void 0||r.wave===void 0||n.wave===r.wave||!o(n)||!o(r))return null;let a=this.of(n.wave).filter(({code:i})=>i.place.pc===n.pc),s=this.of(r.wave).filter(({code:i})=>i.place.pc===r.pc);for(let i of a)for(let d of s){let[u,c]=[this.interval(i),this.interval(d)];if(u.number!==c.number)continue;let[m,h]=i.row<d.row?[i,d]:[d,i];return{what:e,first:m,second:h,from:Math.min(u.from,c.from),to:Math.max(u.to,c.to)}}return null}interval(e){let n=this.of(e.wave).filter(({code:a})=>a.kind==="barrier"),r=n.filter(({row:a})=>a<e.row),o=n[r.length];return{number:r.length,from:r.at(-1)?.row??0,to:o?.row??this.data.rows}}},v=-1;function pe(t,e,n){let r=new Int32Array(t.size/4).fill(v),o=r.slice();for(let a=0;a<t.row.length&&!((t.row[a]??0)>=n);a++)if(t.store[a])for(let{dword:s,lane:i,part:d}of I(t,a))r[s]=a,o[s]=fe(t,e,a,i,d);return{writer:r,name:o}}function fe(t,e,n,r,o){let a=t.first[n]??v,s=t.patterns[t.pattern[n]??-1]?.length??0;return a===v?v:e[(a+o)*s+r]??v}function U(t,e,n,r){return(t.first[n]??v)===v?"":I(t,n).filter(o=>o.dword===r).map(({lane:o,part:a})=>t.names[fe(t,e,n,o,a)]??"").join("; ")}function ge(t){return t.tensors.map((e,n)=>{let r=t.lines.filter(([o])=>o===n).map(([,o])=>o);return[r.reduce((o,a)=>Math.min(o,a),Number.POSITIVE_INFINITY),r.reduce((o,a)=>Math.max(o,a),0)]})}function be(t,e,n){return I(t,e).filter(r=>r.dword===n).map(({lane:r})=>r)}function I(t,e){return(t.patterns[t.pattern[e]??-1]??[]).flatMap((n,r)=>{if(n<0)return[];let o=(n+(t.bytes[e]??4)-1>>2)-(n>>2)+1;return Array.from({length:o},(a,s)=>({dword:(n>>2)+s,lane:r,part:s}))})}function Y(t,e){return I(t,e).map(({dword:n})=>n)}function he(t,e){let n=new Map;for(let a of new Set(Y(t,e)))n.set(a%t.banks,(n.get(a%t.banks)??0)+1);let[r,o]=[...n].sort((a,s)=>s[1]-a[1])[0]??[0,0];return{bank:r,dwords:o}}var _e=400,Ke=.55;function q(t){let{timeline:e}=t,n=e?.data.lds??null,r=l("div",{class:"choices",role:"group","aria-label":"colours"}),o=l("section",{class:"lds panel","aria-label":"LDS"},l("header",{},l("h2",{},"LDS"),r));if(e===null||n===null)return o.append(l("p",{},"No access of LDS was recorded.")),o;let a={lds:n,held:te(n.held)},s=Math.ceil(n.size/4/n.banks),[i,d]=[Math.floor(640/n.banks),Math.max(2,Math.min(8,Math.floor(560/s)))],u=l("canvas",{width:n.banks*i,height:s*d,tabindex:0,role:"img","aria-label":`LDS, ${s} rows of ${n.banks} banks; arrow keys choose a dword`}),c=l("p",{class:"says","aria-live":"polite"}),m=l("p",{class:"says"}),h=l("p",{class:"legend"}),g=[...je(n),Ge(e,n)],[b]=g,p=0,f={writer:new Int32Array,name:new Int32Array},y=k=>{p=Math.max(0,Math.min(k,n.size/4-1)),x()},x=()=>{let k=t.row;if(o.hidden=k===null,k===null||b===void 0)return;f=pe(n,a.held,k);let E=Ue(e,n,t.state.wave,k);Ze(u,{lds:n,image:f,tint:b.tint,wide:i,tall:d,chosen:p,access:E}),c.replaceChildren(...Ye(e,a,f.writer,p)),m.replaceChildren(...qe(e,n,E)),r.replaceChildren(...g.length>1?g.map(w):[]),h.replaceChildren(...b.legend,M("swatch never","nothing was stored"),M("swatch access","the wave's latest access"))},w=k=>T(k.title,k===b,()=>{b=k,x(),r.querySelector("[aria-pressed='true']")?.focus()});return u.addEventListener("click",k=>{let E=u.getBoundingClientRect(),Le=Math.floor((k.clientX-E.left)/E.width*n.banks);y(Math.floor((k.clientY-E.top)/E.height*s)*n.banks+Le)}),u.addEventListener("keydown",k=>{let E={ArrowLeft:-1,ArrowRight:1,ArrowUp:-n.banks,ArrowDown:n.banks}[k.key];E!==void 0&&(k.preventDefault(),y(p+E))}),t.watch(x),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",x),o.append(m,c,l("div",{class:"scroll"},u),h,A("what lies where, as a table",["bytes","wave","stored by","first dword"],()=>Xe(e,a,f.writer))),o}function je(t){let e=ge(t),n=(a,s)=>{let[i,d]=e[a]??[0,0];return(a+(s-i)/(d-i+1))/e.length},r=(a,s)=>{let[i,d]=t.lines[a.name[s]??v]??[v,v];return i===v?null:{hue:n(i,d),odd:d%2!==0}},o=e.map(([a,s],i)=>{let u=Array.from({length:5},(h,g)=>n(i,a+(s-a)*g/4)).map(h=>`hsl(${h*360} var(--tint-strong) var(--tint-even))`),c=s>a?`rows ${a} to ${s}`:`row ${a}`,m=`background: linear-gradient(90deg, ${u.join(", ")})`;return M("swatch rows",`${t.tensors[i]??""}, ${c}`,{style:m})});return e.length>0?[{title:"by matrix row",tint:r,legend:o}]:[]}function Ge(t,e){let n=new Set;for(let s=0;s<e.row.length;s++)e.store[s]&&n.add(t.at(e.row[s]??-1)?.code.title??"");let r=new Map([...n].map((s,i)=>[s,(Ke+i/n.size)%1])),o=(s,i)=>{let d=t.at(e.row[s.writer[i]??v]??-1),u=r.get(d?.code.title??"");return d===void 0||u===void 0?null:{hue:u,odd:d.wave%2!==0}},a=[...r].map(([s,i])=>M("swatch tint",s,{style:`--hue: ${i}turn`}));return{title:"by store",tint:o,legend:a}}function Ue(t,e,n,r){let o=-1;for(let a=0;a<e.row.length&&(e.row[a]??0)<=r;a++)t.at(e.row[a]??-1)?.wave===n&&(o=a);return o}function Ye(t,{lds:e,held:n},r,o){let a=l("b",{},`byte ${4*o}, bank ${o%e.banks}: `),s=r[o]??v,i=t.at(e.row[s]??-1);if(s===v||i===void 0)return[a,"nothing was stored there until now"];let d=U(e,n,s,o);return[a,d&&l("b",{},d),`${d&&", "}stored by wave ${i.wave}, lane ${be(e,s,o).join(" and ")}, with `,l("code",{},i.code.title),`, row ${i.row}`]}function qe(t,e,n){let r=t.at(e.row[n]??-1);if(n<0||r===void 0)return["The wave has not accessed LDS yet."];let{bank:o,dwords:a}=he(e,n),s=a>1?`its lanes want up to ${a} dwords of one bank (${o})`:"its lanes want no two dwords of one bank";return[`${e.store[n]?"Store":"Load"} at hand: `,l("code",{},r.code.title),`; ${s}.`]}function*Xe(t,{lds:e,held:n},r){let o=i=>{let d=t.at(e.row[r[i]??v]??-1);return d===void 0?"":`${d.wave}
${d.code.title}`},[a,s]=[0,0];for(let i=1;i<=r.length&&s<_e;i++){if(i<r.length&&o(i)===o(a))continue;let[d="",u="nothing"]=o(a).split(`
`),c=U(e,n,r[a]??v,a);yield[`${4*a} to ${4*i-1}`,d,u,c],s++,a=i}}function Ze(t,e){let n=t.getContext("2d");if(n===null)return;let{lds:r,image:o,wide:a,tall:s}=e,i=C(t),d=g=>[g%r.banks*a,Math.floor(g/r.banks)*s,a-1,s-1];n.clearRect(0,0,t.width,t.height);for(let g=0;g<o.writer.length;g++){let b=e.tint(o,g),p=(o.writer[g]??v)!==v;n.fillStyle=b===null?i(p?"line":"off-bg"):`hsl(${b.hue*360} ${i("tint-strong")} ${i(b.odd?"tint-odd":"tint-even")})`,n.fillRect(...d(g))}n.fillStyle=i("copy");for(let g of new Set(e.access<0?[]:Y(r,e.access)))n.fillRect(...d(g));n.strokeStyle=i("ink"),n.lineWidth=2;let[u,c,m,h]=d(e.chosen);n.strokeRect(u-1,c-1,m+2,h+2)}function ye(t){let[e,n]=t.axes,r=_(t.wrong,e*n);return{rows:e,cols:n,rowsEach:t.rows,observed:P(t.observed),expected:P(t.expected),wrong:r,undefined:_(t.undefined,e*n),count:r.reduce((o,a)=>o+a,0)}}function we(t){let e=t.expected.reduce((n,r)=>Number.isFinite(r)?Math.max(n,Math.abs(r)):n,0);return t.wrong.length===0?new Float32Array:Float32Array.from(t.wrong,(n,r)=>{if(n===0)return 0;let a=Math.abs((t.observed[r]??0)-(t.expected[r]??0))/(e||1),s=Number.isFinite(a)?Math.log10(Math.max(a,1e-4)):0;return .3+.7*Math.max(0,Math.min(1,1+s/4))})}function N(t,e){for(let n=1;n<=t.wrong.length;n++){let r=(e+n)%t.wrong.length;if(t.wrong[r])return r}return-1}function O(t){return t===void 0?"":String(Number(t.toPrecision(7)))}function ve(t,e,n){let r=l("div",{class:"element","aria-live":"polite"}),o;return t.watch(()=>{let{element:a}=t.state;if(a===o&&r.childElementCount)return;if(o=a,a===null){r.replaceChildren(l("p",{class:"hint"},"No element is chosen."));return}let s=(a.product*n.rowsEach+a.row)*n.cols+a.col,i=n.undefined[s]?"undefined bits":O(n.observed[s]),d=!!n.wrong[s],u=t.model.makers(a,a.product),c=n.rows>n.rowsEach?`, product ${a.product}`:"";r.replaceChildren(l("h3",{},S(e,a)+c),l("p",{},"holds ",l("code",{class:d?"bad-text":"good-text"},i),d&&", should be ",d&&l("code",{class:"good-text"},O(n.expected[s]))),...u.length>0?u.flatMap(m=>Qe(t,m,a)):[l("p",{},Je(t))])}),r}function Je(t){return t.model.data.moments.leftOut>0?"No accumulator of the workgroups in this page is stored there: --workgroup X,Y,Z shows another one.":"No accumulator is stored there."}function Qe(t,e,n){let{slot:r,steps:o,belongs:a}=e,s=o[0];if(s===void 0)return[];let i=t.model.register(s.site,"C",r.vgpr,s.operands.C?.bits??32),d=`workgroup ${t.model.groupName(s.group)}, wave ${s.wave}, lane ${r.lane}, ${i}`,c=l("p",{},"made by ",l("button",{type:"button",class:"link",onclick:()=>t.goto(s,{matrix:"C",slot:r})},d));a!==null&&(a.row!==n.row||a.col!==n.col)&&c.append(l("span",{class:"bad-text"},` \u2717 which is ${S("C",a)}, stored to the wrong place`));let m=t.model.contributions(e,n),h=t.model.data.moments.shapes.A[1],g=m.filter(({right:w})=>!w).length,b=h-new Set(m.map(({k:w})=>w)).size,p=t.model.beyond(e),f=`${p.length} execution${p.length===1?"":"s"} add${p.length===1?"s":""}`,y=[`${m.length} products over k`,g>0?`${g} of wrong elements`:"all of the right elements",b>0?`${b} k are missing`:"",p.length>0?`${f} what lies beyond the last k`:""],x=a??n;return[c,l("p",{class:g+b+p.length>0?"bad-text":"good-text"},y.filter(Boolean).join(", ")),et(t,m,x),...p.map(w=>l("p",{},l("button",{type:"button",class:"link",onclick:()=>t.goto(w,{matrix:"A"})},`beyond the last k: instruction ${w.site}, execution ${w.iteration}`))),A("its products as a table",["k","A","B","step",""],()=>m.map(w=>[String(w.k),S("A",w.heldA),S("B",w.heldB),`instruction ${w.step.site}, execution ${w.step.iteration}`,w.right?"right":`wrong: needs A[${x.row}][${w.k}] and B[${w.k}][${x.col}]`]))]}function et(t,e,n){let r=e.map(o=>{let s=[["A",o.heldA,{row:n.row,col:o.k}],["B",o.heldB,{row:o.k,col:n.col}]].find(([,c,m])=>c?.row!==m.row||c.col!==m.col)?.[0],i=`k ${o.k}: ${S("A",o.heldA)} * ${S("B",o.heldB)}`,d=o.right||s===void 0?"A":s,u=d==="A"?o.a:o.b;return l("button",{type:"button",class:o.right?"right":"wrong",title:i,"aria-label":`${i}${o.right?"":", wrong"}`,onclick:()=>t.goto(o.step,{matrix:d,slot:u})},String(o.k))});return l("div",{class:"strip",role:"group","aria-label":"products over k"},...r)}var tt=560,X=400;function xe(t){let{output:e,noOutput:n}=t.model.data,r=l("h2",{},`Output ${e?.name??""}`),o=l("section",{class:"output panel","aria-label":"output"},l("header",{},r));if(e===null)return o.append(l("p",{},`Values are not shown: ${n}`)),o;let a=ye(e),s=nt(t,e.name,a),i=N(a,-1);i>=0&&t.set({element:ke(a,i)});let d=`${a.count} of ${a.rows*a.cols} elements are wrong`;return o.append(l("p",{class:"says"},a.count>0?l("span",{class:"bad-text"},`\u2717 ${d}`):l("span",{class:"good-text"},"\u2713 every element is right")," on small integers. Choose one to see what it was made of."),l("div",{class:"beside"},s,ve(t,e.name,a)),A(`wrong elements as a table${a.count>X?`, the first ${X}`:""}`,["element","held","expected"],function*(){for(let u=N(a,-1),c=0;u>=0&&c<Math.min(a.count,X);c++){let m=`${e.name}[${Math.floor(u/a.cols)}][${u%a.cols}]`,h=a.undefined[u]?"undefined":O(a.observed[u]);yield[m,h,O(a.expected[u])],u=N(a,u)}})),o}function ke(t,e){let n=Math.floor(e/t.cols);return{row:n%t.rowsEach,col:e%t.cols,product:Math.floor(n/t.rowsEach)}}function nt(t,e,n){let{rows:r,cols:o}=n,a=Math.max(1,Math.floor(tt/Math.max(r,o))),s=l("canvas",{width:o*a,height:r*a,tabindex:0,role:"img","aria-label":`map of ${e}: ${n.count} wrong elements; arrow keys choose one`}),i=(p,f)=>{let[y,x]=[Math.max(0,Math.min(p,r-1)),Math.max(0,Math.min(f,o-1))];t.set({element:ke(n,y*o+x)})},d=()=>{let p=t.state.element;return p===null?[0,0]:[p.product*n.rowsEach+p.row,p.col]};s.addEventListener("click",p=>{let f=s.getBoundingClientRect();i(Math.floor((p.clientY-f.top)/f.height*r),Math.floor((p.clientX-f.left)/f.width*o))}),s.addEventListener("keydown",p=>{let f={ArrowLeft:[0,-1],ArrowRight:[0,1],ArrowUp:[-1,0],ArrowDown:[1,0]}[p.key];f!==void 0&&(p.preventDefault(),i(d()[0]+(f[0]??0),d()[1]+(f[1]??0)))});let u=(p,f)=>l("input",{type:"number",min:0,max:f,value:0,"aria-label":p}),c=u(`row of ${e}`,r-1),m=u(`column of ${e}`,o-1);for(let p of[c,m])p.addEventListener("change",()=>i(Number(c.value),Number(m.value)));let h=l("button",{type:"button",disabled:n.count===0,onclick:()=>{let p=t.state.element===null?-1:d()[0]*o+d()[1],f=N(n,p);i(Math.floor(f/o),f%o)}},"next wrong element"),g=we(n),b=()=>{rt(s,n,g,a,t.state.element===null?null:d()),t.state.element!==null&&([c.value,m.value]=d().map(String))};return t.watch(b),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",b),l("div",{class:"map"},s,l("div",{class:"choose"},l("span",{},e),"[",c,"][",m,"]",h),l("p",{class:"legend"},M("swatch right","right"),M("swatch hot","off, the redder the further"),M("swatch unsure","undefined")))}function rt(t,e,n,r,o){let a=t.getContext("2d");if(a===null)return;let s=C(t);a.fillStyle=s("good-bg"),a.fillRect(0,0,t.width,t.height);let[i,d]=[s("bad"),s("unsure")];for(let m=0;m<n.length;m++)e.wrong[m]&&(a.globalAlpha=e.undefined[m]?1:n[m]??0,a.fillStyle=e.undefined[m]?d:i,a.fillRect(m%e.cols*r,Math.floor(m/e.cols)*r,r,r));if(a.globalAlpha=1,o===null)return;let[u,c]=o.map(m=>m*r);a.strokeStyle=s("ink"),a.lineWidth=2,a.strokeRect(c-2,u-2,r+4,r+4)}var Me=`.layoutprobe h2 {
  margin: 0;
}
.layoutprobe button,
.layoutprobe select,
.layoutprobe input[type="number"] {
  font: inherit;
  font-size: 0.87rem;
  color: var(--ink);
  background: var(--paper);
  border: 1px solid var(--line);
  border-radius: 6px;
  padding: 0.15rem 0.55rem;
  min-height: 1.9rem;
  cursor: pointer;
}
.layoutprobe button:hover:not(:disabled),
.layoutprobe select:hover {
  background: var(--shade);
}
.layoutprobe button:disabled {
  color: var(--off);
  cursor: default;
}
.layoutprobe button[aria-pressed="true"] {
  background: var(--ink);
  border-color: var(--ink);
  color: var(--paper);
}
.layoutprobe button.bad::after {
  content: "";
  display: inline-block;
  width: 0.45em;
  height: 0.45em;
  margin-left: 0.35em;
  border-radius: 50%;
  background: var(--bad);
  vertical-align: middle;
}
.layoutprobe :focus-visible {
  outline: 2px solid var(--copy);
  outline-offset: 1px;
}
.layoutprobe button.link {
  border: 0;
  padding: 0;
  min-height: 0;
  color: var(--copy);
  background: none;
  text-decoration: underline;
  text-align: left;
  font-size: inherit;
}
.layoutprobe .bad-text {
  color: var(--bad);
  font-weight: 600;
}
.layoutprobe .good-text {
  color: var(--good);
}
.layoutprobe .hidden {
  position: absolute;
  width: 1px;
  height: 1px;
  overflow: hidden;
  clip-path: inset(50%);
}
.layoutprobe .choices {
  display: inline-flex;
  flex-wrap: wrap;
}
.layoutprobe .choices button {
  border-radius: 0;
  margin-left: -1px;
}
.layoutprobe .choices button:first-child {
  border-radius: 6px 0 0 6px;
  margin-left: 0;
}
.layoutprobe .choices button:last-child {
  border-radius: 0 6px 6px 0;
}
.layoutprobe .choices button:only-child {
  border-radius: 6px;
}

.layoutprobe .findings {
  margin: 0 0 1rem;
}
.layoutprobe .findings .card {
  margin: 0 0 0.75rem;
  padding-bottom: 0.6rem;
}
.layoutprobe .findings .go {
  display: flex;
  gap: 0.5rem;
  flex-wrap: wrap;
}

.layoutprobe .moment {
  position: sticky;
  top: 0;
  z-index: 3;
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.45rem 0.7rem;
  margin: 0 0 1rem;
  padding: 0.6rem 0.9rem;
  border: 1px solid var(--line);
  border-radius: 8px;
  background: var(--shade);
}
.layoutprobe .moment label,
.layoutprobe .moment .label {
  color: var(--soft);
  font-size: 0.87rem;
}
.layoutprobe .slide {
  display: flex;
  gap: 0.45rem;
  flex: 1 1 22rem;
  align-items: center;
}
.layoutprobe .slide input {
  flex: 1;
  min-width: 6rem;
  accent-color: var(--copy);
}
.layoutprobe .says {
  margin: 0;
  flex-basis: 100%;
  font-size: 0.9rem;
  overflow-wrap: anywhere;
  min-height: 1.5em;
}

.layoutprobe .columns {
  display: grid;
  grid-template-columns: minmax(0, 6fr) minmax(0, 4fr);
  gap: 1rem;
  align-items: start;
}
.layoutprobe .panel {
  scroll-margin-top: 6rem;
  border: 1px solid var(--line);
  border-radius: 8px;
  padding: 0.8rem 0.9rem;
  margin: 0 0 1rem;
  min-width: 0;
}
.layoutprobe .panel > header {
  display: flex;
  flex-wrap: wrap;
  gap: 0.4rem 0.7rem;
  align-items: center;
  margin-bottom: 0.5rem;
}
.layoutprobe .panel > header h2 {
  flex: 1 1 auto;
}
.layoutprobe .panel .scroll {
  margin: 0;
}
.layoutprobe .legend {
  margin: 0.6rem 0 0;
  color: var(--soft);
  font-size: 0.83rem;
  line-height: 1.9;
}
.layoutprobe .legend .entry {
  display: inline-block;
  margin-right: 0.8rem;
}

.layoutprobe .fragment table {
  width: 100%;
  border-collapse: separate;
  border-spacing: 2px;
  table-layout: fixed;
  min-width: 44rem;
  font-variant-numeric: tabular-nums;
}
.layoutprobe .fragment th {
  border: 0;
  padding: 0 0.15rem;
  font-size: 0.75rem;
  font-weight: 500;
  color: var(--soft);
  background: none;
  text-align: center;
}
.layoutprobe .fragment thead tr:first-child th {
  color: var(--ink);
  font-weight: 600;
}
.layoutprobe .fragment th:first-child {
  width: 2.2rem;
  min-width: 0;
  text-align: right;
}
.layoutprobe .fragment td {
  border: 0;
  border-radius: 3px;
  padding: 0;
  height: 1.35rem;
  font-size: 0.7rem;
  line-height: 1.15;
  white-space: nowrap;
  cursor: pointer;
}
.layoutprobe .fragment td.even {
  background: hsl(var(--hue) var(--tint-strong) var(--tint-even));
}
.layoutprobe .fragment td.odd {
  background: hsl(var(--hue) var(--tint-strong) var(--tint-odd));
}
.layoutprobe .fragment td.wrong,
.layoutprobe .key.wrong {
  background: color-mix(in srgb, var(--bad) 30%, var(--paper));
  box-shadow: inset 0 0 0 1.5px var(--bad);
  color: var(--wrong);
  font-weight: 700;
  padding: 0.1rem 0;
}
.layoutprobe .fragment td.wrong small {
  display: block;
  color: var(--right);
  font-weight: 600;
  font-size: 1em;
}
.layoutprobe .fragment td.dead,
.layoutprobe .key.dead {
  background-image: repeating-linear-gradient(
    135deg,
    transparent 0 3px,
    color-mix(in srgb, var(--ink) 16%, transparent) 3px 4px
  );
  color: var(--soft);
}
.layoutprobe .fragment td.same {
  outline: 2px solid var(--copy);
  outline-offset: -1px;
}
.layoutprobe .fragment td.chosen {
  outline: 3px solid var(--ink);
  outline-offset: -1px;
}
.layoutprobe .key {
  display: inline-block;
  border-radius: 3px;
  padding: 0 0.4rem;
  line-height: 1.35;
}

.layoutprobe .source .code {
  max-height: 48rem;
  overflow: auto;
  border: 1px solid var(--line);
  border-radius: 6px;
  position: relative;
}
.layoutprobe .line {
  display: grid;
  grid-template-columns: 2.8rem 1.5rem minmax(0, 1fr);
  align-items: start;
}
.layoutprobe .long .line {
  content-visibility: auto;
  contain-intrinsic-height: auto 1.35rem;
}
.layoutprobe .line .number {
  color: var(--off);
  font-size: 0.75rem;
  text-align: right;
  padding-right: 0.3rem;
  line-height: 1.35rem;
  user-select: none;
}
.layoutprobe .line code {
  white-space: pre-wrap;
  overflow-wrap: anywhere;
  line-height: 1.35rem;
  font-size: 0.8rem;
}
.layoutprobe .line .note {
  grid-column: 3;
  margin: 0 0.4rem 0.3rem 0;
  color: var(--bad);
  font-size: 0.8rem;
  overflow-wrap: anywhere;
}
.layoutprobe .line.related .note {
  color: var(--unsure);
}
.layoutprobe .line.finding {
  background: var(--bad-bg);
  box-shadow: inset 3px 0 var(--bad);
}
.layoutprobe .line.related {
  background: var(--unsure-bg);
  box-shadow: inset 3px 0 var(--unsure);
}
.layoutprobe .line.now {
  box-shadow: inset 3px 0 var(--copy);
}
.layoutprobe .line.now .number {
  color: var(--ink);
  font-weight: 700;
}
.layoutprobe .line .mark {
  text-align: center;
  line-height: 1.35rem;
}
.layoutprobe .line button.mark {
  border: 0;
  background: none;
  padding: 0;
  min-height: 0;
}
.layoutprobe .mark.finding {
  color: var(--bad);
  font-weight: 700;
}
.layoutprobe .mark.related {
  color: var(--unsure);
  font-weight: 700;
}
.layoutprobe .mark.site {
  color: var(--copy);
}

.layoutprobe .beside {
  display: grid;
  grid-template-columns: minmax(0, auto) minmax(18rem, 1fr);
  gap: 1.2rem;
  align-items: start;
  margin-top: 0.5rem;
}
.layoutprobe canvas {
  max-width: 100%;
  height: auto;
  display: block;
  border: 1px solid var(--line);
  border-radius: 4px;
  image-rendering: pixelated;
  cursor: crosshair;
}
.layoutprobe .choose {
  display: flex;
  flex-wrap: wrap;
  align-items: center;
  gap: 0.2rem;
  margin-top: 0.5rem;
  font-size: 0.9rem;
}
.layoutprobe .choose input {
  width: 5rem;
}
.layoutprobe .choose button {
  margin-left: 0.6rem;
}
.layoutprobe .swatch {
  display: inline-block;
  width: 0.9em;
  height: 0.9em;
  border-radius: 3px;
  vertical-align: -0.1em;
  border: 1px solid var(--line);
}
.layoutprobe .swatch.right {
  background: var(--good-bg);
}
.layoutprobe .swatch.hot {
  background: linear-gradient(90deg, color-mix(in srgb, var(--bad) 30%, transparent), var(--bad));
}
.layoutprobe .swatch.unsure {
  background: var(--unsure);
}
.layoutprobe .element h3 {
  margin-top: 0;
  font-family: ui-monospace, monospace;
}
.layoutprobe .element p {
  margin: 0.3rem 0;
  overflow-wrap: anywhere;
}
.layoutprobe .element .hint {
  color: var(--soft);
}
.layoutprobe .strip {
  display: flex;
  flex-wrap: wrap;
  gap: 2px;
  margin: 0.4rem 0;
  max-height: 15rem;
  overflow-y: auto;
}
.layoutprobe .strip button {
  min-height: 1.5rem;
  min-width: 1.9rem;
  padding: 0 0.2rem;
  font-size: 0.72rem;
  border: 0;
  border-radius: 3px;
}
.layoutprobe .strip .right {
  background: var(--good-bg);
  color: var(--right);
}
.layoutprobe .strip .wrong {
  background: color-mix(in srgb, var(--bad) 30%, var(--paper));
  color: var(--wrong);
  font-weight: 700;
  box-shadow: inset 0 0 0 1.5px var(--bad);
}
.layoutprobe details.behind {
  border: 0;
  margin: 0.6rem 0 0;
}
.layoutprobe details.behind .scroll {
  max-height: 24rem;
  overflow: auto;
}
.layoutprobe kbd {
  font:
    0.85em ui-monospace,
    monospace;
  border: 1px solid var(--line);
  border-radius: 4px;
  padding: 0 0.35em;
}

@media (max-width: 1080px) {
  .layoutprobe .columns {
    grid-template-columns: minmax(0, 1fr);
  }
}
@media (max-width: 640px) {
  .layoutprobe .moment {
    position: static;
  }
  .layoutprobe .beside {
    grid-template-columns: minmax(0, 1fr);
  }
  .layoutprobe .source .code {
    max-height: 26rem;
  }
  .layoutprobe .fragment {
    max-height: 30rem;
    overflow: auto;
  }
  .layoutprobe .fragment th:first-child {
    position: sticky;
    left: 0;
    background: var(--paper);
    z-index: 1;
  }
}
@media (pointer: coarse) {
  .layoutprobe button,
  .layoutprobe select {
    min-height: 2.4rem;
  }
}

.layoutprobe .timeline canvas {
  max-width: none;
  image-rendering: auto;
  border: 0;
}
.layoutprobe .race {
  margin: 0.4rem 0 0;
  font-size: 0.9rem;
}
.layoutprobe .swatch.load,
.layoutprobe .swatch.access {
  background: var(--copy);
}
.layoutprobe .swatch.store {
  background: var(--unsure);
}
.layoutprobe .swatch.wait,
.layoutprobe .swatch.never {
  background: var(--off);
}
.layoutprobe .swatch.never {
  background: var(--off-bg);
}
.layoutprobe .swatch.barrier {
  background: var(--ink);
}
.layoutprobe .swatch.matrix {
  background: var(--good);
}
.layoutprobe .swatch.wrong {
  background: var(--bad);
}
.layoutprobe .swatch.rows {
  width: 3em;
}
.layoutprobe .swatch.tint {
  background: hsl(var(--hue) var(--tint-strong) var(--tint-even));
}

.layoutprobe details.behind summary {
  background: none;
  padding: 0;
  color: var(--soft);
  font-size: 0.87rem;
  display: list-item;
  list-style: inside disclosure-closed;
}
.layoutprobe details.behind[open] summary {
  list-style-type: disclosure-open;
}
`;var at=3e3;function J(t){let{model:e}=t,{sources:n}=e.data,r=st(t),o=l("div",{class:"code",tabindex:0,role:"region","aria-label":"lines of the source"}),a=l("select",{"aria-label":"file",onchange:()=>t.set({line:{file:a.value,line:1}})});a.append(...n.map(({file:d})=>l("option",{value:d},d)));let s="",i="";return t.watch(()=>{let d=t.state.line??dt(t)??ut(t),u=d?.file??n[0]?.file??"";if(u!==s){s=u,a.value=u;let m=lt(t,u,r);o.classList.toggle("long",m.length>at),o.replaceChildren(...m)}for(let m of o.querySelectorAll(".now"))m.classList.remove("now");for(let m of ct(t,u))o.querySelector(`[data-line="${m}"]`)?.classList.add("now");let c=`${u}:${d?.line}`;if(c!==i){i=c;let m=o.querySelector(`[data-line="${d?.line}"]`);m!==null&&(o.scrollTop=m.offsetTop-o.clientHeight/3)}}),n.length===0?l("section",{class:"source panel","aria-label":"source"},l("h2",{},"Source"),l("p",{},"The kernel came as a code object, or without debug information (-g): there is no source to show.")):l("section",{class:"source panel","aria-label":"source"},l("header",{},l("h2",{},"Source"),a),o,l("p",{class:"legend"},M("mark finding","a finding",{},"\u2717"),M("mark related","on the way of the wrong value",{},"\u25CB"),M("mark site","a matrix instruction",{},"\u25C6"),l("span",{},"Choose a marked line to go there.")))}var Se=t=>`${t.file}:${t.line}`;function B(t){return t.near?[]:[t,...t.inlined_at??[]]}function st(t){let e=new Map,n=r=>{let o=e.get(Se(r))??{sites:[],findings:[],related:[]};return e.set(Se(r),o),o};for(let r of t.model.data.sites)for(let o of B(r.place))n(o).sites.push(r.number);for(let r of t.model.data.findings){let o=Z(t,r.place);o!==null&&n(o).findings.push(r.what);for(let{title:a,place:s}of r.related){let i=Z(t,s);i!==null&&n(i).related.push(a)}}return e}function lt(t,e,n){return(t.model.data.sources.find(o=>o.file===e)?.lines??[]).map(([o,a])=>{let s=n.get(`${e}:${o}`),i=l("div",{class:"line","data-line":o},l("span",{class:"number"},String(o)),it(t,s,e,o),l("code",{},a||" "));return s?.findings.length?(i.classList.add("finding"),i.append(...[...new Set(s.findings)].map(d=>l("p",{class:"note"},`\u2717 ${d}`)))):s?.related.length&&(i.classList.add("related"),i.append(l("p",{class:"note"},[...new Set(s.related)].join("; ")))),i})}function it(t,e,n,r){if(e===void 0)return l("span",{class:"mark"});let[o,a]=e.findings.length?["\u2717","finding"]:e.related.length?["\u25CB","related"]:["\u25C6","site"],s=[...e.findings,...e.related,...e.sites.map(u=>`matrix instruction ${u}`)],i=()=>{let u=t.steps.find(c=>e.sites.includes(c.site));u===void 0?t.set({line:{file:n,line:r}}):t.goto(u,{line:{file:n,line:r},slot:null})},d={type:"button",class:`mark ${a}`,title:s.join(`
`),onclick:i};return l("button",{...d,"aria-label":`line ${r}: ${s.join("; ")}`},o)}function Z(t,e){let n=new Set(t.model.data.sources.map(({file:r})=>r));for(let{file:r,line:o}of B(e))if(r!==void 0&&o!==void 0&&n.has(r))return{file:r,line:o};return null}function dt(t){return t.model.data.findings.map(({place:n})=>Z(t,n)).find(n=>n!==null)??null}function ut(t){let e=t.model.site(t.step?.site??-1),n=new Set(t.model.data.sources.map(({file:a})=>a)),o=[...e===void 0?[]:B(e.place)].reverse().find(({file:a})=>a!==void 0&&n.has(a));return o?.file!==void 0&&o.line!==void 0?{file:o.file,line:o.line}:null}function ct(t,e){let n=t.model.site(t.step?.site??-1);return(n===void 0?[]:B(n.place)).flatMap(o=>o.file===e&&o.line!==void 0?[o.line]:[])}var V=class{constructor(e,n){this.model=e;this.now=n;let{timeline:r}=e.data;this.timeline=r&&new H(r,e.groupNumber(r.group))}model;now;views=[];waiting=!0;timeline;get state(){return this.now}get steps(){return this.model.steps(this.now.group,this.now.wave)}get step(){return this.steps[this.now.step]}watch(e){this.views.push(e)}start(){this.waiting=!1;for(let e of this.views)e()}set(e){let n={...this.now,...e},r=this.model.steps(n.group,n.wave);(e.step!==void 0||e.wave!==void 0||e.group!==void 0)&&(n.row=e.row??null),this.now={...n,step:Math.max(0,Math.min(n.step,r.length-1))},!this.waiting&&(this.waiting=!0,requestAnimationFrame(()=>{this.waiting=!1;for(let o of this.views)o()}))}get row(){let{timeline:e}=this;return e===null||!e.shows(this.now.group)?null:this.now.row??e.rowOf(this.now.wave,this.step?.turn??0)}at(e){let n=this.model.steps(this.now.group,e.wave),r=this.timeline?.turnAt(e.wave,e.row)??0,o=n.findLastIndex(a=>a.turn<=r);this.set({wave:e.wave,step:Math.max(o,0),row:e.row,slot:null})}goto(e,n={}){let r=this.model.steps(e.group,e.wave).indexOf(e);this.set({group:e.group,wave:e.wave,step:Math.max(r,0),...n})}nextWrong(){let e=[...this.model.every].flat(),n=this.step===void 0?-1:e.indexOf(this.step);return[...e.slice(n+1),...e.slice(0,n+1)].find(o=>o.wrong)}};function $e(t){let{opened:e}=t.data,n=[...t.every].flat(),r=e.group===null?-1:t.groupNumber(e.group),o=c=>(r<0||c.group===r)&&(e.wave===null||c.wave===e.wave)&&(e.site===null||c.site===e.site)&&(e.iteration===null||c.iteration===e.iteration),a=n.filter(o),i=a.find(c=>e.matrix!==null&&c.operands[e.matrix]?.anyWrong)??a.find(c=>c.wrong)??a[0]??n[0],d=["A","B","C"].find(c=>i?.operands[c]?.anyWrong),u=i===void 0?0:t.steps(i.group,i.wave).indexOf(i);return{group:i?.group??0,wave:i?.wave??0,step:u,row:null,matrix:e.matrix??d??"A",shown:"both",slot:null,element:null,line:null}}var $=20,Ee=14,R=34,mt=16e3,pt={barrier:"ink",wait:"off",load:"copy",store:"unsure",atomic:"unsure",matrix:"good",end:"line"},ft=["end","wait","load","store","atomic","matrix","barrier"];function Q(t){let{timeline:e}=t,n=l("section",{class:"timeline panel","aria-label":"timeline"});if(e===null)return n.append(l("h2",{},"Timeline"),l("p",{},"The run is too long for a timeline: take a smaller size.")),n;let r=e.races(t.model.data.findings),o=l("canvas",{tabindex:0,role:"img","aria-label":`events of ${e.waves.length} waves; arrow keys move from event to event and between waves`}),a=1,s=()=>wt(o,i,t,e,r,a),i=l("div",{class:"scroll"},o),d=l("p",{class:"says","aria-live":"polite"}),u=c=>()=>{a=Math.max(1,Math.min(a*c,64)),s();let m=Number(o.dataset.cursor??0);i.scrollLeft=m-i.clientWidth/2};return o.addEventListener("click",c=>{let m=o.getBoundingClientRect(),h=e.waves[Math.floor((c.clientY-m.top)/$)],g=o.clientWidth-R,b=(c.clientX-m.left-R)/g*e.data.rows,p=h===void 0?void 0:e.nearest(h,b);p!==void 0&&ee(t,e,p)}),o.addEventListener("keydown",c=>gt(c,t,e)),t.watch(()=>{s(),d.replaceChildren(...bt(t,e))}),matchMedia("(prefers-color-scheme: dark)").addEventListener("change",s),addEventListener("resize",s),n.append(l("header",{},l("h2",{},"Timeline"),l("button",{type:"button",onclick:u(2),"aria-label":"zoom in"},"+"),l("button",{type:"button",onclick:u(.5),"aria-label":"zoom out"},"\u2212")),d,i,...r.map(c=>ht(t,e,c)),yt(e,t.model.data.judged),A("events of the wave as a table",["row","kind","instruction","at"],()=>e.of(t.state.wave).map(({row:c,code:m})=>[String(c),m.kind,m.text,m.title]))),n}function ee(t,e,n){let r=t.model.groupNumber(e.data.group);r!==t.state.group&&t.set({group:r,wave:n.wave}),t.at(n)}function gt(t,e,n){let{wave:r}=e.state,o=e.row??0,a=n.of(r),s=u=>{let c=n.waves[n.waves.indexOf(r)+u];return c===void 0?void 0:n.nearest(c,o)},d={ArrowLeft:()=>a.findLast(u=>u.row<o),ArrowRight:()=>a.find(u=>u.row>o),ArrowUp:()=>s(-1),ArrowDown:()=>s(1)}[t.key]?.();d!==void 0&&(t.preventDefault(),ee(e,n,d))}function bt(t,e){let n=t.row;if(n===null)return[`Workgroup ${`(${e.data.group.join(", ")})`} was recorded; choose an event to go there.`];let r=e.at(n);return[l("b",{},`wave ${t.state.wave}, row ${n} of ${e.data.rows}: `),l("code",{},r?.code.text??""),r?.code.place.line===void 0?"":` at ${r.code.place.file}:${r.code.place.line}`,e.data.cut&&l("span",{class:"bad-text"},` The run ends early: ${e.data.cut}`)].filter(o=>o!=="")}function ht(t,e,n){let r=o=>l("button",{type:"button",class:"link",onclick:()=>ee(t,e,o)},`${o.code.title} (wave ${o.wave})`);return l("p",{class:"race"},l("span",{class:"bad-text"},"\u2717 race: "),r(n.first)," and ",r(n.second),", with no barrier between them")}function yt(t,e){let n=["load","store","wait","barrier","matrix"],r=new Set(t.events.map(({code:o})=>o.kind));return l("p",{class:"legend"},...n.filter(o=>r.has(o)).map(o=>M(`swatch ${o}`,o)),e&&M("swatch wrong","matrix instruction with a wrong operand"),l("span",{},"From left to right in the order in which the emulator executes: no cycles."))}function wt(t,e,n,r,o,a){let s=t.getContext("2d"),i=Math.min(mt,Math.max(Math.floor(e.clientWidth*a),200)),d=r.waves.length*$;if(s===null)return;(t.width!==i||t.height!==d)&&([t.width,t.height]=[i,d]),t.style.width=`${i}px`;let u=C(t),c=f=>R+f/r.data.rows*(i-R-4),m=f=>r.waves.indexOf(f)*$,h=n.model.groupNumber(r.data.group);s.clearRect(0,0,i,d),s.font="11px system-ui, sans-serif";for(let f of r.waves){let y=f===n.state.wave&&h===n.state.group;s.fillStyle=u(y?"off-bg":"shade"),s.fillRect(R,m(f)+1,i-R,$-2),s.fillStyle=u(y?"ink":"soft"),s.fillText(`w${f}`,6,m(f)+14)}let g=new Set(r.waves.flatMap(f=>n.model.steps(h,f).filter(y=>y.wrong).map(y=>r.rowOf(f,y.turn)))),b=Math.max(1.5,Math.min(8,i/r.data.rows*.8));for(let f of ft)for(let y of r.events){if(y.code.kind!==f)continue;s.fillStyle=u(g.has(y.row)?"bad":pt[f]??"line");let[x,w]=f==="barrier"?[0,$]:f==="wait"?[9,4]:[($-Ee)/2,Ee];s.fillRect(c(y.row),m(y.wave)+x,f==="barrier"?2:b,w)}for(let f of o)vt(s,f,c,m,u("bad"));let p=n.row;p!==null&&(t.dataset.cursor=String(Math.round(c(p))),s.fillStyle=u("copy"),s.fillRect(c(p)-1,0,2,d),s.strokeStyle=u("copy"),s.lineWidth=2,s.strokeRect(c(p)-4,m(n.state.wave)+1,9,$-2))}function vt(t,e,n,r,o){t.fillStyle=o,t.strokeStyle=o,t.lineWidth=2;let a=[e.first,e.second];t.globalAlpha=.22;for(let{wave:s}of a)t.fillRect(n(e.from),r(s),n(e.to)-n(e.from),$);t.globalAlpha=1,t.beginPath(),t.moveTo(n(e.first.row),r(e.first.wave)+$/2),t.lineTo(n(e.second.row),r(e.second.wave)+$/2),t.stroke();for(let{row:s,wave:i}of a)t.beginPath(),t.arc(n(s),r(i)+$/2,5,0,2*Math.PI),t.fill()}function xt(){let t=document.getElementById("kernel"),e=document.getElementById("layoutprobe-data")?.textContent;if(t===null||!e)return;let n=JSON.parse(e);if(n.schema!==z){t.append(l("p",{},`This page's data is ${n.schema}, and its script reads ${z}.`));return}let r=new W(n),o=new V(r,$e(r)),a=n.judged?[ne(o),ie(o),Q(o),l("div",{class:"columns"},se(o),J(o)),xe(o),q(o),me()]:[Q(o),J(o),q(o)];t.append(l("style",{},Me),...a),o.start(),ce(o)}xt();})();
